package target

import (
	"fmt"

	"culprit/daemon/locks"
	"culprit/daemon/openfiles"
	"culprit/daemon/patch"
	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/daemon/segment"
	"culprit/daemon/targetstats"
	"culprit/daemon/threads"
	"culprit/trampoline"
)

// A Target is one process that is measured. Its parts have locks of their own where they need any.
type Target struct {
	*Session
	*program.Program
	Proc *process.Process
	Name string           // element of the Process hierarchy: "redis-server{4242}"
	Seg  *segment.Segment // nil where nothing is put into the process
	Text *patch.Text

	Cells   segment.Cells
	Threads *threads.Table
	Locks   *locks.Table
	Files   *openfiles.Table
	Stats   *targetstats.Table
	Seccomp int // mode of the process: 0 none, 1 strict, 2 filter
}

// New is a process of which nothing is known yet.
func New(s *Session, p *process.Process) *Target {
	t := &Target{Session: s, Proc: p}
	t.Cells.Init(trampoline.DefaultGeometry(1), nil)
	return t
}

// ReadCode reads what the process maps, and names it by that.
func (t *Target) ReadCode(files *program.Files) (err error) {
	t.Program, err = program.Open(source{t.Proc}, files, func(text string) { t.Logf("%s", text) })
	if err != nil {
		return err
	}
	t.Name = fmt.Sprintf("%s{%d}", t.Main().Name, t.Proc.PID())
	return nil
}
