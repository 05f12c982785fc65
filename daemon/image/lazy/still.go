package lazy

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// A Still is a stop that is under way on one thread of this process. It may be used on that thread only, until it has ended.
type Still struct {
	tid     int
	told    bool // OnMissing is told
	missing []missing
}

// A missing is something that a stop needs and that is not there.
type missing struct {
	what  string
	build func()
}

// stills are the stops that are under way, by thread; most look at their number only.
var (
	stills      sync.Map // int -> *Still
	stillNumber atomic.Int32
)

// onMissing is told what a stop was to wait for.
var onMissing atomic.Pointer[func(what string, stack []byte)]

// OnMissing has f told whatever a stop would have had to build or read, with the stack of who asked for it. It is meant for tests; nil ends
// it.
func OnMissing(f func(what string, stack []byte)) {
	if f == nil {
		onMissing.Store(nil)
		return
	}
	onMissing.Store(&f)
}

// HoldStill begins a stop. The goroutine must be locked to its thread, and must call End.
func HoldStill() *Still { return begin(true) }

// WithoutMaking runs f, which must not wait for anything to be made either, since others wait for a lock that its caller holds. The error is as that
// of Missing.
func WithoutMaking(f func()) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	s := begin(false)
	defer s.End()
	f()
	return s.Missing()
}

func begin(told bool) *Still {
	s := &Still{tid: unix.Gettid(), told: told}
	if _, twice := stills.LoadOrStore(s.tid, s); twice {
		panic("BUG: a stop within a stop")
	}
	stillNumber.Add(1)
	return s
}

// End ends a stop.
func (s *Still) End() {
	stills.Delete(s.tid)
	stillNumber.Add(-1)
}

// Missing is nil if all that was asked for so far was there, else a *NotReady.
func (s *Still) Missing() error {
	if len(s.missing) == 0 {
		return nil
	}
	return &NotReady{What: s.missing[0].what, still: s}
}

// A NotReady says that a stop needs something that is not there. Nothing that was found out since may be believed.
type NotReady struct {
	What  string
	still *Still
}

// Error says what is missing.
func (e *NotReady) Error() string {
	return fmt.Sprintf("deferred: %s had to be read first; all threads were resumed: try again", e.What)
}

// Make makes what was missing, after the stop.
func (e *NotReady) Make() {
	for _, m := range e.still.missing {
		m.build()
	}
}

// ErrInStop is what is said of what would have to be made in a stop.
var ErrInStop = errors.New("not read yet, and nothing is read while a target is stopped")

// InStop reports whether the caller is in a stop and must do without something that takes long to make. It is noted then, and made after
// the stop if whoever made it asks for that.
func InStop(what string, build func()) bool {
	if stillNumber.Load() == 0 {
		return false
	}
	v, ok := stills.Load(unix.Gettid())
	if !ok {
		return false
	}
	s := v.(*Still)
	s.missing = append(s.missing, missing{what, build})
	if f := onMissing.Load(); f != nil && s.told {
		(*f)(what, debug.Stack())
	}
	return true
}
