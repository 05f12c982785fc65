package kernel

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Rings are the memory into which the kernel writes stack samples, one ring per processor: a processor takes at most one sample at
// a time, so that the samplers of many processes can share them. Without Close they stay open. They and their samplers belong
// to one goroutine at a time.
type Rings struct {
	rings     []*ring
	userOnly  bool
	open      int // events of all samplers
	maxOpen   int
	lost      uint64
	throttled uint64
	scratch   []byte

	everywhere everywhere // of all processors; nil until somebody wants it
	nowhere    error      // why there is none
}

// NewRings opens a ring for each processor that is online. Errors are those of the kernel: ExplainSampling explains them.
func NewRings() (*Rings, error) {
	cpus, err := OnlineCPUs()
	if err != nil {
		return nil, err
	}
	r := &Rings{maxOpen: 512, scratch: make([]byte, 1<<16)}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		r.maxOpen = int(min(limit.Cur, 1<<20) / 2)
	}
	err = r.openAll(cpus)
	if errors.Is(err, os.ErrPermission) {
		r.userOnly = true // kernel.perf_event_paranoid = 2
		err = r.openAll(cpus)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Rings) openAll(cpus []int) error {
	r.Close()
	for _, cpu := range cpus {
		one, err := newRing(cpu, r.userOnly)
		if err == unix.ENODEV {
			continue // the processor went offline meanwhile
		}
		if err != nil {
			return err
		}
		r.rings = append(r.rings, one)
	}
	return nil
}

// Read hands over all samples that have come since the last Read, in order per processor, and returns their number.
// The Sample's Stack is valid during the call only. Call it at least ten times a second: a ring holds about 60 samples
// per MiB, and what does not fit is counted by Lost.
func (r *Rings) Read(f func(Sample)) int {
	n := 0
	for _, one := range r.rings {
		one.drain(r.scratch, func(h header, body []byte) {
			switch h.kind {
			case unix.PERF_RECORD_SAMPLE:
				sample, ok := parseSample(h.misc, body)
				if !ok {
					r.lost++
					return
				}
				n++
				f(sample)
			case unix.PERF_RECORD_LOST:
				r.lost += lostCount(body)
			case unix.PERF_RECORD_THROTTLE:
				r.throttled++
			}
		})
		r.lost += one.broken
		one.broken = 0
	}
	if r.everywhere != nil {
		more, lost := r.everywhere.read(f)
		n, r.lost = n+more, r.lost+lost
	}
	return n
}

// Events is how many events all samplers have open.
func (r *Rings) Events() int { return r.open }

// Lost returns how many samples did not fit into the rings since NewRings.
func (r *Rings) Lost() uint64 { return r.lost }

// Throttled returns how often the kernel held samplers back because samples took it too long.
func (r *Rings) Throttled() uint64 { return r.throttled }

// Close gives the rings back. It may be called twice.
func (r *Rings) Close() error {
	if r.everywhere != nil {
		r.everywhere.close()
		r.everywhere, r.nowhere = nil, os.ErrClosed
	}
	for _, one := range r.rings {
		one.close()
	}
	r.rings = nil
	return nil
}
