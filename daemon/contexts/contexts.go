// Package contexts finds out whether a program schedules its own contexts, and says what then must not be written into its code.
//
// A context that does not run has its PC in memory of the program's, where we do not find it. One
// that left by a call is no danger: it goes on behind that call, and no call is ever moved, nor anything that something may jump
// to; so coroutines that leave where they say so (swapcontext, Boost.Context, fibers of PHP and Ruby, OpenSSL's ASYNC jobs) are patched as
// any code. But where a signal's handler leaves for another context, the context that it interrupted goes on at any instruction: in
// the middle of a jump that was written meanwhile, or in a trampoline that was freed. Therefore in such a program
//   - a jump takes the place of one instruction only, which is done or not;
//   - no long jump is put into padding, from where it would be taken away while somebody is on the way to it;
//   - no trampoline is freed before the program ends, and the memory of trampolines stays when the probes are taken out.
//
// What tells such a program:
//   - a handler that is installed leads by direct calls to a function that leaves for another stack, by its name. That a library has or
//     imports such a function tells nothing: libcrypto does, and with it every server that speaks TLS;
//   - a thread is stopped on a stack that is not its own, and some handler is not so simple that it plainly comes back: it calls
//     something, or is told where the signal came. This finds contexts that are exchanged by code without a name, such as a handler that
//     exchanges the registers which the kernel has saved for it.
//
// It must not know how the points of functions are reached, what is measured, or what a target is. A Contexts is for the goroutine that
// has the Stopper of its process.
package contexts

import (
	"fmt"

	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/daemon/segment"
	"culprit/daemon/stack"
	"culprit/daemon/stops"
)

// WhyOneInstruction is why a point has no way in a program that schedules its own contexts; what told it stands before it.
const WhyOneInstruction = "contexts that a signal takes off may go on at any instruction, so only single instructions are replaced"

// A Config is what a Contexts is made with.
type Config struct {
	Proc   *process.Process
	Code   *program.Program
	Stops  *stops.Stopper
	Walker *stack.Walker
	Log    func(string)
	// Found is called once, when it was found that the program schedules its own contexts; perhaps in a stop.
	Found func()
}

// A Contexts is what is known of the contexts of one process.
type Contexts struct {
	cfg Config
	seg *segment.Segment // nil where nothing is put into the process

	why      string             // they may be parked at any instruction; "" if there is no sign of it
	foreign  int                // thread that was on a stack that is not its own before handlers could be looked at; 0 = none
	looked   bool               // handlers were looked at, or there was no need
	left     bool               // windows that were there when that was found are gone
	stacks   map[int]ownedStack // by thread
	caught   uint64             // signals that had a handler when handlers were last looked at
	loads    int                // objects that had been found then
	stayed   bool               // memory of an earlier session is there to stay
	verdicts verdicts           // on handlers
}

// New is a process of which nothing is known yet.
func New(c Config) *Contexts { return &Contexts{cfg: c} }

// Use tells it the memory that was put into the process.
func (c *Contexts) Use(seg *segment.Segment) { c.seg = seg }

// Why is by what it was found that the program schedules its own contexts; "" if it was not.
func (c *Contexts) Why() string { return c.why }

// Scheduled reports whether it was found that the program schedules its own contexts.
func (c *Contexts) Scheduled() bool { return c.why != "" }

// Schedules notes that the program schedules its own contexts, for a reason. From now on no window of several instructions is written.
func (c *Contexts) Schedules(why string) {
	c.why = why
	c.cfg.Log(fmt.Sprintf("process %d schedules its own contexts (%s): %s, and trampolines stay in its memory until it ends", c.cfg.Proc.PID(), why, WhyOneInstruction))
	c.cfg.Found()
	c.NoteStays()
}
