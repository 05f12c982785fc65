package sampling

import (
	"errors"
	"fmt"
	"time"

	"culprit/daemon/image/lazy"
	"culprit/daemon/image/unwind"
	"culprit/daemon/kernel"
	"culprit/daemon/stack"
	"culprit/daemon/target"
	"culprit/grid"
)

// A Profile takes the stack samples of a target.
type Profile struct {
	Counts
	sampler   Sampler // nil where it is not permitted
	failed    error   // why there is none
	receiver  Receiver
	running   Receiver // of threads that run; nil where nobody makes values of those alone
	waiting   Receiver // of threads that wait; nil where nobody makes values of those alone
	requests  requests
	jumps     stack.TailCalls
	next      int // thread to look at next
	bursts    bursts
	heldBy    draw // of the threads for which it is looked who has a lock
	wakers    func(tid int, call kernel.BlockedCall, now float64) []Waker
	unfed     func(tid int, call kernel.BlockedCall, now float64) (share float64, ok bool)
	locks     map[string]bool // functions that wait for locks which languages have made for themselves; nil until it is asked for
	lockWaits map[int]lockWait
	woke      draw // of the threads for which it is looked who ends their waits
	births    int  // of threads, when the sampler was last told of them
	resting   bool // fewer samples are taken
}

// A Config is what a Profile is made with.
type Config struct {
	Target   *target.Target
	Open     func(pid, hz int) (Sampler, error) // opens a sampler of a process, so many times a second; nil with an error
	Receiver Receiver                           // nil where nobody makes values of the samples
	// Wakers tells who ends the waits of a thread in a call, at a session time. Unfed tells what part of them nobody ends but time, or threads that have
	// nothing to do themselves. They are nil if nobody knows.
	Wakers func(tid int, call kernel.BlockedCall, now float64) []Waker
	Unfed  func(tid int, call kernel.BlockedCall, now float64) (share float64, ok bool)
}

// A Sampler takes stack samples of the threads of a process that run.
type Sampler interface {
	Refresh(tids []int) error
	Close() error
}

// A Receiver is given all samples.
type Receiver interface {
	Note(x *Sample)
	// NeedsLook reports whether a look at a thread at a session time would tell anything new.
	NeedsLook(tid int, now float64) bool
}

// A Sample is what one thread was doing at one moment.
type Sample struct {
	TID     int
	Frames  []stack.Frame      // innermost first, with the functions that have ended in a jump
	Blocked bool               // else it ran
	Mode    kernel.Mode        // of a thread that ran
	Idle    bool               // blocked with nothing to do
	Call    kernel.BlockedCall // of a blocked thread
	Object  string             // what it waits for, as the profile names it
	Kind    Kind               // of a blocked thread that is not idle
	At      float64            // session time, of a blocked thread
}

// New begins to sample a target, more often where a receiver makes values of the samples.
func New(c Config) *Profile {
	p := &Profile{wakers: c.Wakers, unfed: c.Unfed}
	p.Counts.init(c.Target)
	p.jumps = stack.TailCallsOf(p.t.Program)
	p.requests.init(p.t.Proc)
	hz := sampleHz
	if c.Receiver != nil {
		p.Receive(c.Receiver)
		hz, p.bursts.budget = ReceivedHz, toggleShare
	}
	if p.sampler, p.failed = c.Open(p.t.Proc.PID(), hz); p.failed != nil {
		p.t.Logf("no stack samples of running threads: %v", p.failed)
	}
	return p
}

// Receive has a receiver be given the samples from now on.
func (p *Profile) Receive(r Receiver) { p.receiver = r }

// ReceiveWaiting has a receiver be given the looks at threads that wait, from now on.
func (p *Profile) ReceiveWaiting(r Receiver) { p.waiting = r }

// ReceiveRunning has a receiver be given the samples of threads that run, from now on, beside whoever is given all.
func (p *Profile) ReceiveRunning(r Receiver) { p.running = r }

// Close ends the sampling of threads that run; without it the kernel goes on with it.
func (p *Profile) Close() {
	if p.sampler != nil {
		p.sampler.Close()
	}
}

// A Need is what somebody wants to know of samples.
type Need uint8

// The needs.
const (
	Running Need = iota // where threads run
	Waiting             // where they wait as well
	Modes               // whether they run in the kernel
)

// Cannot says what keeps samples from telling what somebody needs; nil if nothing does.
func (p *Profile) Cannot(n Need) error {
	var denied *kernel.NotPermitted
	switch err := p.failed; {
	case errors.As(err, &denied):
		return grid.ErrNotPermitted{What: denied.What, Help: denied.Remedy}
	case err != nil:
		return err
	case n == Waiting:
		return p.CannotLook()
	case n == Modes:
		return p.cannotTellModes()
	}
	return nil
}

// cannotTellModes says what keeps samples of threads in the kernel from being taken.
func (p *Profile) cannotTellModes() error {
	if s, ok := p.sampler.(*kernel.Sampler); ok && s.UserOnly() {
		return grid.ErrNotPermitted{What: "sampling threads in the kernel", Help: "run as root or with CAP_PERFMON, or for your own processes: sysctl kernel.perf_event_paranoid=1"}
	}
	return nil
}

// CannotLook says what keeps threads that wait from being looked at; nil if nothing does.
func (p *Profile) CannotLook() error {
	if p.t.Proc.Blind() {
		return grid.ErrNotPermitted{What: "seeing what threads wait in", Help: fmt.Sprintf("it needs the right to trace the process: sudo culprit attach --backend sample %d", p.t.Proc.PID())}
	}
	return nil
}

// Take counts a sample that perf has taken. Where its stack takes tables of files that are not there it counts nothing, and returns what makes them, which
// may take a second and may be run on any goroutine; nil if it has counted.
func (p *Profile) Take(s *kernel.Sample) (lacks func()) {
	var frames []stack.Frame
	err := lazy.WithoutMaking(func() {
		frames = p.jumps.Restore(p.t.Walker.Walk(regsOf(s), stack.Cached(s.StackAddr, s.Stack, nil)))
	})
	var missing *lazy.NotReady
	if errors.As(err, &missing) {
		p.jumps.Forget() // not all that it asked for was there
		return missing.Make
	}
	for _, r := range []Receiver{p.receiver, p.running} {
		if r != nil {
			r.Note(&Sample{TID: s.TID, Frames: frames, Mode: s.Mode})
		}
	}
	p.add(kindsRunning[s.Mode], s.TID, frames, "")
	return nil
}

// add counts a sample, and tells the target what its stack says.
func (p *Profile) add(kinds []Kind, tid int, frames []stack.Frame, object string) {
	p.t.NoteStack(tid, 0, frames)
	p.Counts.add(kinds, tid, frames, object, p.t.Items())
}

func regsOf(s *kernel.Sample) unwind.Regs {
	r := &s.Regs
	return unwind.Regs{RAX: r.AX, RBX: r.BX, RCX: r.CX, RDX: r.DX, RSI: r.SI, RDI: r.DI, RBP: r.BP, RSP: r.SP,
		R8: r.R8, R9: r.R9, R10: r.R10, R11: r.R11, R12: r.R12, R13: r.R13, R14: r.R14, R15: r.R15, RIP: r.IP, Exact: true}
}

// Follow tells the sampler of threads that came or went.
func (p *Profile) Follow() {
	if births := p.t.Threads.Changes(); p.sampler != nil && births != p.births {
		p.births = births
		p.sampler.Refresh(p.t.Threads.TIDs())
	}
}

// Pace lets perf sample, or not, as it is time to where samples cost something at each switch of a thread, and all targets together have
// so many switches a second. Elsewhere there are fewer samples where we are to rest.
func (p *Profile) Pace(switches float64, rest bool) {
	switch s := p.sampler.(type) {
	case *kernel.Sampler:
		if p.bursts.next(time.Now(), switches, s.Events()) {
			s.Resume()
		} else {
			s.Pause()
		}
	case *kernel.ProcessSampler:
		p.rest(s, rest && p.receiver == nil)
	}
}

func (p *Profile) rest(s *kernel.ProcessSampler, rest bool) {
	hz := sampleHz
	if rest {
		hz = restingHz
	}
	if rest != p.resting && s.SetRate(hz) == nil {
		p.resting = rest
	}
}
