package target

import (
	"fmt"

	"culprit/daemon/contexts"
	"culprit/daemon/patch"
	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/daemon/segment"
	"culprit/daemon/stack"
	"culprit/daemon/stops"
)

// A Code is the code of one process and what is written into it, with all that must be known of the process to change it safely. It is for
// one goroutine at a time, but for what its Program and its Walker answer.
type Code struct {
	*program.Program
	Name   string // element of the Process hierarchy: "redis-server{4242}"
	Proc   *process.Process
	Seg    *segment.Segment // nil where nothing is put into the process
	Text   *patch.Text
	Walker *stack.Walker // of its stacks

	Stops     *stops.Stopper
	Fit       *stops.Fit
	Sequences *stops.Sequences
	Contexts  *contexts.Contexts

	settings Settings
}

// Settings are what a Code is made with. All of them are needed.
type Settings struct {
	Files  *program.Files
	Pauses *stops.Pauses
	Count  *patch.Count // of what is put in and taken out
	Log    func(string)
	Scale  func() int32 // see patch.Config
	Hooks
}

// Hooks are what a Code asks of who measures the process. All of them are needed.
type Hooks struct {
	Look     stops.Check                        // looks at the process in each stop, before those checks that make it safe to change code
	Found    func()                             // is called when it is found that the program schedules its own contexts; perhaps in a stop
	Refresh  func() error                       // finds out anew what the process maps
	Unloaded func(patch.Owner, *program.Object) // is told that an owner's code is gone from a file, whose old bytes are there again
}

// Open reads what a process maps, and names it by that.
func (c *Code) Open(p *process.Process, s Settings) (err error) {
	c.Proc, c.settings = p, s
	c.Program, err = program.Open(source{p}, s.Files, s.Log)
	if err != nil {
		return err
	}
	c.Name = fmt.Sprintf("%s{%d}", c.Main().Name, p.PID())
	p.ProveSpent(c.fourthIsSpent)
	c.Walker = &stack.Walker{Code: c.Program, Detours: detours{c}, Live: stack.Words(p)}
	c.Stops = stops.New(stops.Config{Proc: p, Code: c.Program, Walker: c.Walker, Name: c.Name, Log: s.Log, Pauses: s.Pauses})
	c.Fit = stops.NewFit(c.Name, s.Log)
	c.Sequences = stops.NewSequences(c.Program)
	c.Contexts = contexts.New(contexts.Config{Proc: p, Code: c.Program, Stops: c.Stops, Walker: c.Walker, Log: s.Log, Found: s.Found})
	c.Text = patch.New(patch.Config{Proc: p, Host: Host{c}, Name: c.Name, Log: s.Log, Scale: s.Scale, Count: s.Count})
	for _, look := range []stops.Check{s.Look, c.lookAtFit, c.Contexts.Look, c.Sequences.Look} {
		c.Stops.AtEach(look)
	}
	return nil
}

// lookAtFit is a stops.Check: a process without trampolines may be as it likes.
func (c *Code) lookAtFit(w *process.World) error {
	if c.Seg == nil {
		return nil
	}
	return c.Fit.Look(w)
}

// use has what is put into the process use a segment that is mapped there.
func (c *Code) use(s *segment.Segment) {
	c.Seg = s
	c.Text.Use(s)
	c.Stops.Use(s)
	c.Contexts.Use(s)
}

// fourthIsSpent reports whether nobody behind a system call reads its fourth argument, where the code stays for good.
func (c *Code) fourthIsSpent(ret process.Addr) bool {
	o := c.ObjectAt(uint64(ret))
	return o.Resident() && o.FourthIsSpent(uint64(ret)-o.Bias)
}
