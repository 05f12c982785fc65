package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"culprit/internal/servers"
)

// A pinned load is pgbench on each processor that this process may use, with servers that stay there too. Left to the scheduler, client and
// server begin side by side; whatever disturbs them once, for however short a time, may part them for the rest of the load, which costs a
// fifth where they only read and says nothing of what comes after the disturbance.
type pinned struct {
	clients []*exec.Cmd
	said    []bytes.Buffer
}

// A second of a load.
type second struct {
	transactions float64
	clients      float64 // processors that the clients had
}

// clientsEach processor has: it is never idle while one of them waits.
const clientsEach = 2

// startPinned starts a load that lasts as long as told.
func startPinned(pg *servers.Postgres, args []string, long time.Duration) (*pinned, error) {
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return nil, err
	}
	p := &pinned{said: make([]bytes.Buffer, may.Count())}
	for cpu := 0; len(p.clients) < may.Count(); cpu++ {
		if !may.IsSet(cpu) {
			continue
		}
		if err := p.start(pg, args, long, cpu); err != nil {
			p.end()
			return nil, err
		}
	}
	return p, nil
}

func (p *pinned) start(pg *servers.Postgres, args []string, long time.Duration, cpu int) error {
	had, err := childrenOf(pg.PID)
	if err != nil {
		return err
	}
	all := slices.Concat([]string{"-c", strconv.Itoa(clientsEach), "-j", "1", "-n", "-M", "prepared", "-T", seconds(long), "-P", "1"}, args, []string{"postgres"})
	cmd := pg.Command("pgbench", all...)
	cmd.Stderr = &p.said[len(p.clients)]
	if err := cmd.Start(); err != nil {
		return err
	}
	p.clients = append(p.clients, cmd)
	begun, err := connected(pg.PID, had)
	if err != nil {
		return err
	}
	for _, pid := range append(begun, cmd.Process.Pid) {
		if err := pin(pid, cpu); err != nil {
			return err
		}
	}
	return nil
}

// connected waits for the servers of a pgbench: children that a postmaster had not before. The first one is gone soon: pgbench asks for
// the size of its tables before it begins.
func connected(postmaster int, had []int) ([]int, error) {
	var last []int
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		now, err := childrenOf(postmaster)
		if err != nil {
			return nil, err
		}
		now = slices.DeleteFunc(now, func(pid int) bool { return slices.Contains(had, pid) })
		if len(now) == clientsEach && slices.Equal(now, last) {
			return now, nil
		}
		last = now
	}
	return nil, errors.New("pgbench has not connected within 10 s")
}

// pin keeps a process of one thread on a processor.
func pin(pid, cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	return unix.SchedSetaffinity(pid, &set)
}

// childrenOf lists the processes that the first thread of one has made.
func childrenOf(pid int) (list []int, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil, err
	}
	for _, field := range strings.Fields(string(text)) {
		child, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		list = append(list, child)
	}
	return list, nil
}

// end stops what was started.
func (p *pinned) end() {
	for _, cmd := range p.clients {
		cmd.Process.Kill()
		cmd.Wait()
	}
}

// watch waits for the load's end and returns its seconds: as many as all clients tell of.
func (p *pinned) watch() ([]second, error) {
	ended := make(chan struct{})
	had := make(chan []float64)
	go func() { had <- p.processors(ended) }()
	var errs []error
	for i, cmd := range p.clients {
		if err := cmd.Wait(); err != nil {
			errs = append(errs, fmt.Errorf("pgbench: %w\n%s", err, p.said[i].Bytes()))
		}
	}
	close(ended)
	list := make([]second, 0)
	for _, had := range <-had {
		list = append(list, second{clients: had})
	}
	for i := range p.said {
		for s, m := range regexp.MustCompile(`progress: [\d.]+ s, ([\d.]+) tps`).FindAllStringSubmatch(p.said[i].String(), len(list)) {
			n, err := strconv.ParseFloat(m[1], 64)
			errs = append(errs, err)
			list[s].transactions += n
		}
	}
	return list, errors.Join(errs...)
}

// processors tells how many processors the clients had in each second until the load's end.
func (p *pinned) processors(ended <-chan struct{}) (list []float64) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last, since := p.used(), time.Now()
	for {
		select {
		case <-ended:
			return list
		case <-tick.C:
			used, now := p.used(), time.Now()
			list = append(list, (used-last).Seconds()/now.Sub(since).Seconds())
			last, since = used, now
		}
	}
}

// used is the clients' processor time; none of those that have ended.
func (p *pinned) used() (sum time.Duration) {
	for _, cmd := range p.clients {
		var ns int64
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", cmd.Process.Pid)); err == nil {
			fmt.Sscan(string(text), &ns)
		}
		sum += time.Duration(ns)
	}
	return sum
}
