package threadstats

import (
	"errors"
	"fmt"
	"io"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// A Cost is what the programs of switches took, since Cost was called first.
type Cost struct {
	Switches uint64 // runs of the program of switches, of all threads of the machine
	SwitchNS uint64 // ns in them
	Wakeups  uint64 // runs of the programs of wake-ups: of new threads, and of all while they are needed
	WakeupNS uint64 // ns in them
	Others   uint64 // runs of the programs that are there while they are needed
	OthersNS uint64 // ns in them
}

// Cost says what the programs took. The kernel measures programs only while it is asked to, since that costs as much as a short
// program: the first call begins, StopCost or Close ends it. It takes CAP_SYS_ADMIN.
func (k *Keeper) Cost() (Cost, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return Cost{}, errClosed
	}
	if k.stats == nil {
		stats, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
		if errors.Is(err, unix.EPERM) {
			return Cost{}, fmt.Errorf("%w: what programs take is told to CAP_SYS_ADMIN only; run it as root", ErrNotPermitted)
		}
		if err != nil {
			return Cost{}, explain("measuring programs", err)
		}
		k.stats = stats
	}
	return k.readCost()
}

// StopCost ends what Cost has begun. What was measured stays.
func (k *Keeper) StopCost() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.endCost()
}

func (k *Keeper) endCost() error {
	var stats io.Closer
	stats, k.stats = k.stats, nil
	if stats == nil {
		return nil
	}
	return stats.Close()
}

func (k *Keeper) readCost() (c Cost, err error) {
	for i, a := range k.always {
		if i == len(k.always)-1 {
			err = errors.Join(err, addStats(a.program, &c.Switches, &c.SwitchNS))
		} else {
			err = errors.Join(err, addStats(a.program, &c.Wakeups, &c.WakeupNS))
		}
	}
	for n, extra := range k.extra {
		runs, ns := &c.Others, &c.OthersNS
		if need(n) == needWakeups {
			runs, ns = &c.Wakeups, &c.WakeupNS
		}
		for _, a := range extra {
			err = errors.Join(err, addStats(a.program, runs, ns))
		}
	}
	return c, err
}

func addStats(p *ebpf.Program, runs, ns *uint64) error {
	s, err := p.Stats()
	if err != nil {
		return explain("reading what a program took", err)
	}
	*runs += s.RunCount
	*ns += uint64(s.Runtime)
	return nil
}
