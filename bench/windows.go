package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"culprit/daemon/kernel"
	"culprit/internal/servers"
)

// Servers under load run faster or slower from second to second, by more than what samples cost. So loads are cut into windows, in pairs of
// which one has what is measured, and the median of the pairs' ratios counts.

const (
	window     = 100 * time.Millisecond
	windowGap  = 10 * time.Millisecond // in which it begins
	windowsFor = 30                    // pairs in a round
)

// A worker is a process that answers requests through the loopback interface.
type worker struct{ pid int }

// work is what a packet of the loopback interface takes of its processor in a window, in ns.
func (w worker) work() float64 {
	time.Sleep(windowGap)
	cpu, before := w.ran(), packets()
	time.Sleep(window)
	return (w.ran() - cpu) / max(packets()-before, 1)
}

// ran is the processor time of its only thread, in ns.
func (w worker) ran() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", w.pid))
	if err != nil {
		return 0
	}
	ns, _, _ := strings.Cut(string(text), " ")
	return number(ns)
}

// packets are those that the loopback interface has received.
func packets() float64 {
	text, err := os.ReadFile("/proc/net/dev")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 2 && f[0] == "lo:" {
			return number(f[2])
		}
	}
	return 0
}

func number(s string) float64 {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0
	}
	return n
}

// more is the share by which a packet takes more work in windows with something than in those without.
func (w worker) more(pairs int, with func() (closer, error)) (float64, error) {
	var ratios []float64
	for range pairs {
		first := rand.IntN(2)
		var work [2]float64 // with it, without
		for i := range 2 {
			which := (first + i) % 2
			ns, err := w.windowOf(which == 0, with)
			if err != nil {
				return 0, err
			}
			work[which] = ns
		}
		if work[1] > 0 {
			ratios = append(ratios, work[0]/work[1])
		}
	}
	if len(ratios) == 0 {
		return 0, errors.New("the server had nothing to do")
	}
	return median(ratios) - 1, nil
}

func (w worker) windowOf(on bool, with func() (closer, error)) (float64, error) {
	if !on {
		return w.work(), nil
	}
	c, err := with()
	if err != nil {
		return 0, err
	}
	defer c.Close()
	return w.work(), nil
}

// ofServer measures samples of a nginx that answers as fast as it can.
func (s *Samples) ofServer(rings *kernel.Rings, rounds int) error {
	dir, err := os.MkdirTemp("", "culprit-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	n, err := servers.StartNginx(dir, 1, "", map[string]string{"small.txt": "hello\n"})
	if err != nil {
		return unlessMissing(err)
	}
	defer n.Close()
	w := worker{}
	for _, p := range kernel.Processes() {
		if p.Parent == n.PID {
			w.pid = p.PID
		}
	}
	loaded := make(chan error, 1)
	go func() {
		pairs := 2 * windowsFor * rounds
		_, _, err := n.Wrk("/small.txt", "", 8, time.Duration(2*pairs)*(window+windowGap)+5*time.Second)
		loaded <- err
	}()
	select {
	case err := <-loaded: // it could not begin
		return unlessMissing(err)
	case <-time.After(time.Second):
	}
	threads, err := w.more(windowsFor*rounds, func() (closer, error) { return rings.Sampler(w.pid, sampleRate) })
	if err != nil {
		return err
	}
	everywhere, err := w.more(windowsFor*rounds, func() (closer, error) {
		defer rings.Read(func(kernel.Sample) {})
		return rings.ProcessSampler(w.pid, sampleRate)
	})
	if err != nil {
		return err
	}
	s.NginxThreads, s.NginxProcessors = &threads, &everywhere
	return unlessMissing(<-loaded)
}
