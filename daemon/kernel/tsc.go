package kernel

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// TSC reads the processor's time-stamp counter (RDTSC), in cycles of its constant rate.
func TSC() uint64

// calibrateFor is how long CalibrateTSC takes at least. Two reads are off by some 100 ns together: 5 parts in a million.
const calibrateFor = 20 * time.Millisecond

// A TSCClock knows the rate of the time-stamp counter against CLOCK_MONOTONIC_RAW. The longer it lives, the
// better Refine makes it. It may be shared between goroutines.
type TSCClock struct {
	first tscReading

	mu    sync.Mutex
	hz    float64
	error float64
}

// tscReading is one moment on both clocks.
type tscReading struct {
	tsc    uint64
	ns     int64
	spread uint64 // cycles between the reads before and after: the moment is known no better
}

// CalibrateTSC measures the rate of the time-stamp counter, which takes about 20 ms. It returns *Unsupported if the
// processor's counter changes its rate or stands still in sleep (flags constant_tsc and nonstop_tsc).
func CalibrateTSC() (*TSCClock, error) {
	if err := stableTSC(); err != nil {
		return nil, err
	}
	first, err := readBoth()
	if err != nil {
		return nil, err
	}
	c := &TSCClock{first: first}
	time.Sleep(calibrateFor)
	if err := c.Refine(); err != nil {
		return nil, err
	}
	return c, nil
}

// Refine measures again, over the whole time since CalibrateTSC.
func (c *TSCClock) Refine() error {
	now, err := readBoth()
	if err != nil {
		return err
	}
	cycles, ns := now.tsc-c.first.tsc, now.ns-c.first.ns
	if ns <= 0 || now.tsc <= c.first.tsc {
		return &Unsupported{What: "timing with the time-stamp counter", Needs: "a counter that never goes back"}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hz = float64(cycles) * 1e9 / float64(ns)
	c.error = float64(now.spread+c.first.spread) / float64(cycles)
	return nil
}

// Hz returns the rate in cycles per second of CLOCK_MONOTONIC_RAW.
func (c *TSCClock) Hz() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hz
}

// Error returns how far Hz may be off, as a fraction: what the two readings that it was made from allow.
func (c *TSCClock) Error() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.error
}

// Seconds converts a number of cycles; the number may be negative.
func (c *TSCClock) Seconds(cycles float64) float64 { return cycles / c.Hz() }

// readBoth takes the best of several tries: one that was not interrupted between its reads.
func readBoth() (best tscReading, err error) {
	best.spread = ^uint64(0)
	for range 32 {
		var ts unix.Timespec
		before := TSC()
		err := unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &ts)
		after := TSC()
		if err != nil {
			return best, fmt.Errorf("reading CLOCK_MONOTONIC_RAW: %w", err)
		}
		if spread := after - before; spread < best.spread {
			best = tscReading{before + spread/2, ts.Nano(), spread}
		}
	}
	return best, nil
}

func stableTSC() error {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return fmt.Errorf("reading the CPU's flags: %w", err)
	}
	_, rest, _ := strings.Cut(string(text), "\nflags")
	line, _, _ := strings.Cut(rest, "\n")
	return checkFlags(line)
}

func checkFlags(line string) error {
	words := map[string]bool{}
	for _, w := range strings.Fields(line) {
		words[w] = true
	}
	for _, need := range []string{"tsc", "constant_tsc", "nonstop_tsc"} {
		if !words[need] {
			return &Unsupported{What: "timing with the time-stamp counter", Needs: "a CPU with " + need}
		}
	}
	return nil
}
