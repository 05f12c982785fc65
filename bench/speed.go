package main

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A speedometer tells how fast the processors are, by how long a piece of work takes on each that is in registers only: the processors of a
// virtual machine are as fast as the neighbours let them be, and 5 to 10 % slower a minute later. Whatever runs beside it does not make the
// work longer, since its own processor time is what counts. It takes half a percent of each.
type speedometer struct {
	stop  chan struct{}
	mu    sync.Mutex
	times [][]int64 // of each processor, in ns, since they were read last
	last  float64   // that was read
}

const (
	workEvery = 5 * time.Millisecond
	workTurns = 10000 // some 16 us
)

// startSpeedometer watches the processors that this process may use.
func startSpeedometer() (*speedometer, error) {
	may, err := processorsOf(0)
	if err != nil {
		return nil, err
	}
	s := &speedometer{stop: make(chan struct{}), times: make([][]int64, len(may))}
	for i, cpu := range may {
		go s.watch(i, cpu)
	}
	return s, nil
}

func (s *speedometer) close() { close(s.stop) }

// watch works on a processor until the end. Its thread ends with it: nothing else shall run there.
func (s *speedometer) watch(i, cpu int) {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(cpu)
	if unix.SchedSetaffinity(0, &set) != nil {
		return // went offline: the others tell
	}
	x := uint64(88172645463325252) // any number but 0
	for {
		x = work(x, workTurns/8) // what it needs is in the caches then
		before := threadTime()
		x = work(x, workTurns)
		took := threadTime() - before
		s.mu.Lock()
		s.times[i] = append(s.times[i], took)
		s.mu.Unlock()
		select {
		case <-s.stop:
			return
		case <-time.After(workEvery):
		}
	}
}

// read is the speed since it was read last, the mean of all processors, in pieces of work per microsecond; as before if nothing was
// measured. The median of a processor's times counts: interrupts are in some.
func (s *speedometer) read() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sum, known float64
	for i, times := range s.times {
		if len(times) > 0 {
			slices.Sort(times)
			sum += 1000 / float64(max(1, times[len(times)/2]))
			known++
		}
		s.times[i] = times[:0]
	}
	if known > 0 {
		s.last = sum / known
	}
	return s.last
}

// work goes on with a xorshift generator's numbers. Were it inlined, it would be left out: nobody wants the last one.
//
//go:noinline
func work(x uint64, turns int) uint64 {
	for range turns {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// threadTime is the processor time of the calling thread in ns.
func threadTime() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // fails for clocks that do not exist only
	return t.Nano()
}
