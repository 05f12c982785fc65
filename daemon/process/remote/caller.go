package remote

import (
	"errors"
	"slices"
	"time"

	"culprit/daemon/process/raw"
)

// ErrOver: a Caller was used after its stop.
var ErrOver = errors.New("the world is running again: a World is valid only within Stop")

// Known is what calls remember of a process from stop to stop.
type Known struct {
	gadgets gadgetCache
	areas   map[int]rseqArea // by thread, of those that were there at the last stop
}

// Search looks for the code that calls are made from. It may take a while: it is called before anything stops, too.
func (k *Known) Search(pid int, mem *raw.File) { k.gadgets.search(pid, mem) }

// A Stop is what calls are made in: all threads of the process are stopped.
type Stop struct {
	PID     int
	Mem     *raw.File
	Known   *Known
	Runs    *Runs                  // counts what threads do for us
	Threads []*raw.Stopped         // in order of id, those of other processes that share the memory among them
	Tracees map[int]*raw.Tracee    // the threads of the process itself
	Gone    func(error) error      // replaces an error that the end of the process explains
	Wake    func(*raw.Tracee) bool // breaks a thread out of the call that it sleeps in, and says whether it has stopped
	Await   func()                 // waits a little for a thread that comes out of its call by itself, where it must not be broken out
	Begin   time.Time              // of the stop
	Limit   time.Duration          // of the stop
}

// A Caller makes system calls by threads of a stopped process. It is used on the tracer's goroutine only, until End.
type Caller struct {
	pid     int
	mem     *raw.File
	known   *Known
	runs    *Runs
	threads []*raw.Stopped
	tracees map[int]*raw.Tracee
	gone    func(error) error
	wake    func(*raw.Tracee) bool
	await   func()
	begin   time.Time
	limit   time.Duration
	before  []raw.Mapping // as they were before it, see Knew
	maps    []raw.Mapping // of this stop, see stackMaps
	called  bool          // a call was made since they were read
	over    bool

	own       raw.Addr // the page of ours that calls are made from, 0 while there is none
	borrowing bool     // none can be mapped, or one is being mapped or unmapped

	caller *raw.Tracee   // the thread that makes calls, once one was chosen
	parked *call         // of a thread that stands at the exit of its last call; nil if none does
	looked bool          // for calls of earlier stops that are not complete
	late   *raw.Deferred // a call that is not, nil if there is none
}

// New makes calls in a stop.
func New(s Stop) *Caller {
	return &Caller{pid: s.PID, mem: s.Mem, known: s.Known, runs: s.Runs, threads: s.Threads, tracees: s.Tracees, gone: s.Gone, wake: s.Wake, await: s.Await, begin: s.Begin, limit: s.Limit}
}

// End removes what calls needed. What cannot be removed is for the next stop.
func (w *Caller) End() {
	_ = w.Leave()
	w.over = true
}

// Maps lists the mappings of the target as they are now. They are read once, and again behind a call: to do so takes half a millisecond in a large program.
func (w *Caller) Maps() ([]raw.Mapping, error) {
	if w.maps != nil && !w.called {
		return slices.Clone(w.maps), nil
	}
	maps, err := raw.ReadMaps(w.pid)
	w.maps, w.called = slices.Clone(maps), false
	return maps, w.gone(err)
}

// MappingsAt are the mappings that the addresses lie in, in the order of these; the zero Mapping stands for none.
func (w *Caller) MappingsAt(addrs []raw.Addr) ([]raw.Mapping, error) {
	if raw.AsksForMappings() {
		at, err := raw.MappingsAt(w.pid, addrs)
		return at, w.gone(err)
	}
	maps, err := w.Maps()
	return raw.MappingsOf(maps, addrs), err
}

// CodeMaps are the mappings in which code may run, in order of address.
func (w *Caller) CodeMaps() ([]raw.Mapping, error) {
	if raw.AsksForMappings() {
		code, err := raw.CodeMaps(w.pid)
		return code, w.gone(err)
	}
	maps, err := w.Maps()
	return raw.CodeOf(maps), err
}

// Knew gives it the mappings as they were read before the stop: to look for stacks they need not be read again.
func (w *Caller) Knew(maps []raw.Mapping) { w.before = maps }

// stillStacks reports whether what threads stand on, and what lies below, is what it was in mappings that were read before.
func (w *Caller) stillStacks(before []raw.Mapping) bool {
	var addrs []raw.Addr
	for i, t := range w.threads {
		m, ok := raw.FindMapping(before, raw.Addr(t.Regs.Rsp))
		if !ok || i >= lookAtThreads {
			return false
		}
		addrs = append(addrs, m.Start, m.Start-1)
	}
	if i := slices.IndexFunc(before, func(m raw.Mapping) bool { return m.Path == "[stack]" }); i >= 0 {
		addrs = append(addrs, before[i].Start, before[i].Start-1)
	}
	now, err := raw.MappingsAt(w.pid, addrs)
	return err == nil && slices.Equal(now, raw.MappingsOf(before, addrs))
}

// stackMaps are the mappings as they were when last asked for in this stop, without what was changed since: stacks do not move while the
// world stands still.
func (w *Caller) stackMaps() ([]raw.Mapping, error) {
	if w.maps == nil && w.before != nil && raw.AsksForMappings() && w.stillStacks(w.before) {
		w.maps, w.called = slices.Clone(w.before), true
	}
	if w.maps == nil {
		if _, err := w.Maps(); err != nil {
			return nil, err
		}
	}
	return w.maps, nil
}

// remapped has no mapping in the range be taken for a stack.
func (w *Caller) remapped(addr raw.Addr, length uint64) {
	w.maps = slices.DeleteFunc(w.maps, func(m raw.Mapping) bool { return m.Start < addr+raw.Addr(length) && addr < m.End })
}
