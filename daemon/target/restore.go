package target

import (
	"culprit/daemon/patch"
	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/daemon/segment"
	"culprit/daemon/stops"
	"culprit/daemon/syscalls"
	"culprit/internal/fault"
)

// Restore undoes what a culprit that was killed has left in a process: every site gets its old bytes back, and the segment is
// unmapped as soon as no thread is inside it. Old bytes come from the ledger in the process; where a jump of ours is not in it
// (a forked child's may be out of date), from the file. It refuses while that culprit is alive, except in forked children.
func Restore(pid int) (r patch.RestoreReport, err error) {
	if err := fault.FromEnvironment(); err != nil {
		return r, err
	}
	p, err := process.Open(pid)
	if err != nil {
		return r, err
	}
	defer p.Close()
	left := false // then nobody can begin, and to ask takes long where thousands of mappings look like ours
	free := func() (err error) {
		if !left {
			left, err = segment.NotInUse(p)
		}
		return err
	}
	if _, err := segment.NotInUse(p); err != nil {
		return r, err
	}
	defer watchCalls(p)()
	var c Code
	if err := c.openToRestore(p); err != nil {
		return r, err
	}
	if err := c.Text.Restore(&r, free); err != nil { // another culprit may have begun meanwhile
		return r, err
	}
	left = false
	return r, segment.Tidy(p, func(f func(*process.World) error) error {
		return c.Stops.Stop(func(w *process.World) error {
			if err := free(); err != nil {
				return err
			}
			return f(w)
		})
	})
}

// watchCalls has the kernel look after the system calls that stops of a process meet, until the end.
func watchCalls(p *process.Process) (end func()) {
	var sight syscalls.Sight
	sight.Begin(func(string, ...any) {}) // where it cannot, calls fare as after SIGSTOP and SIGCONT
	sight.Show(syscalls.Watcher{
		Deadlines: func(l *syscalls.Deadlines) { p.KnowDeadlines(l) },
		Transfers: func(l *syscalls.Transfers) { p.KnowTransfers(l) },
		Modes:     func(*syscalls.Modes) {}, // no code is put in
	}, func(f func()) { go f() })
	return sight.Close
}

// openToRestore opens the code of a process in which nothing is measured.
func (c *Code) openToRestore(p *process.Process) error {
	return c.Open(p, Settings{Files: &program.Files{}, Pauses: &stops.Pauses{}, Count: &patch.Count{}, Log: func(string) {},
		Scale: func() int32 { return 0 }, // no code is made
		Hooks: Hooks{
			Look:     func(*process.World) error { return nil },
			Found:    func() {},
			Refresh:  c.reread,
			Unloaded: func(patch.Owner, *program.Object) {},
		}})
}

// reread finds out anew what the process maps.
func (c *Code) reread() error {
	maps, err := c.Proc.Maps()
	if err != nil {
		return err
	}
	_, err = c.Refresh(CodeMaps(maps), func(o *program.Object) { c.Leave(o) })
	return err
}
