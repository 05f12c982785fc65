package target

import (
	"culprit/daemon/locks"
	"culprit/daemon/openfiles"
	"culprit/daemon/plans"
	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/daemon/segment"
	"culprit/daemon/sites"
	"culprit/daemon/targetstats"
	"culprit/daemon/threads"
	"culprit/grid"
	"culprit/trampoline"
)

// A Target is one process that is measured. Its parts have locks of their own where they need any.
type Target struct {
	*Session
	Code
	Plans *plans.Set // of its functions
	Sites *sites.Finder

	Cells   segment.Cells
	Threads *threads.Table
	Locks   *locks.Table
	Files   *openfiles.Table
	Stats   *targetstats.Table
	Rank    *grid.Rank // in a job of MPI; nil if it is not part of one
	Seccomp int        // mode of the process: 0 none, 1 strict, 2 filter

	Lossy bool // some thread found no block of its own

	items itemCache
}

// New is a process of which nothing is known yet.
func New(s *Session) *Target {
	t := &Target{Session: s, Plans: plans.NewSet(&s.Shared)}
	t.Cells.Init(trampoline.DefaultGeometry(1), nil)
	return t
}

// Open reads what a process maps.
func (t *Target) Open(p *process.Process, files *program.Files, h Hooks) error {
	err := t.Code.Open(p, Settings{Files: files, Pauses: t.Pauses, Count: t.Patches, Log: func(text string) { t.Logf("%s", text) },
		Scale: func() int32 { return trampoline.ScaleOf(t.Clock.Hz()) }, Hooks: h})
	if err != nil {
		return err
	}
	t.Plans.Add(t.Objects()...)
	t.Sites = sites.New(sites.Config{Code: t.Program, Plans: t.Plans, Text: t.Text, Contexts: t.Contexts, Sequences: t.Sequences})
	return nil
}
