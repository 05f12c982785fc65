package target

import (
	"slices"

	"culprit/daemon/attach"
	"culprit/daemon/kernel"
	"culprit/daemon/patch"
	"culprit/daemon/process"
	"culprit/daemon/segment"
	"culprit/daemon/stops"
)

// MapSegment creates the shared segment in the process, in one stop, and learns the threads' pointers and stacks.
func (t *Target) MapSegment() error {
	info, err := t.Proc.Info()
	if err != nil {
		return err
	}
	t.Seccomp = info.Seccomp
	if err := stops.CheckCancels(t.Program); err != nil {
		return err
	}
	if err := t.vacate(); err != nil {
		return err
	}
	l, err := segment.ChooseLayout(t.Proc, info.Threads)
	if err != nil {
		return err
	}
	left, err := segment.Descriptors(t.Proc)
	if err != nil {
		return err
	}
	if !t.Proc.SeesForbidden() {
		if err := stops.AskThreads(t.Stops.Stop, checkThreads); err != nil {
			return t.withdraw(nil, err)
		}
	}
	before, err := mappedBefore(t.Proc)
	if err != nil {
		return err
	}
	var half *segment.Segment // what was mapped and could not be taken out at once
	err = t.Stops.Stop(func(w *process.World) error {
		maps, err := before.now(w)
		if err != nil {
			return err
		}
		if ours := segment.MappingsIn(t.Proc, maps); len(ours) > 0 && !segment.Staying(ours) {
			return attach.TakenBy(t.Proc)
		}
		if err := checkThreads(w); err != nil {
			return err
		}
		if _, err := w.Forbids(); err != nil {
			return err
		}
		if len(left) > 0 {
			if err := segment.CloseDescriptors(w, t.Proc); err != nil {
				return err
			}
		}
		t.Threads.Learn(w)
		s, err := segment.Share(w, t.Proc, l, info.Threads, maps)
		if err != nil {
			half = s
			return err
		}
		t.use(s)
		t.Seg.SetPID(info.InnerPID)
		t.Contexts.NoteStays()
		return nil
	})
	return t.withdraw(half, err)
}

// A mapped is what a process maps, as it was found while it ran.
type mapped struct {
	pid  int
	size uint64 // in bytes
	all  []process.Mapping
}

func mappedBefore(p *process.Process) (m mapped, err error) {
	m.pid = p.PID()
	if m.size, err = kernel.MemorySize(m.pid); err != nil {
		return m, err
	}
	m.all, err = p.Maps()
	return m, err
}

// now are the mappings of the stopped process. They are those that were found, if it maps as much, and the same code: to read all takes half a
// millisecond. Nothing is mapped over anything, so a place that was free and is not any more does no harm.
func (m mapped) now(w *process.World) ([]process.Mapping, error) {
	size, err := kernel.MemorySize(m.pid)
	if err != nil || size != m.size {
		return w.Maps()
	}
	code, err := w.CodeMaps()
	if err != nil {
		return nil, err
	}
	if !slices.Equal(code, process.CodeOf(m.all)) {
		return w.Maps()
	}
	w.Knew(m.all)
	return m.all, nil
}

// withdraw takes out what an attempt has put into the process that failed with err.
func (t *Target) withdraw(half *segment.Segment, err error) error {
	if err == nil || half == nil && !process.GivenUp(err) {
		return err
	}
	return segment.Withdraw(t.Proc, t.Stops.Stop, half, err)
}

// checkThreads refuses threads that trampolines cannot tell apart.
func checkThreads(w *process.World) error {
	if err := stops.CheckThreadPointers(w); err != nil {
		return err
	}
	return stops.CheckPeers(w)
}

// use has all that belongs to the target use a segment that is mapped.
func (t *Target) use(s *segment.Segment) {
	t.Code.use(s)
	t.Stats.Use(s)
	var grow func() error
	if s.IsLittle() {
		grow = func() error { return s.GrowCells(t.Stops.Stop) }
	}
	t.Cells.Init(s.Geometry, grow)
}

// vacate makes sure that nobody's segment is in the process: what a child has inherited from a measured parent is removed.
func (t *Target) vacate() error {
	ours, err := segment.Mappings(t.Proc)
	if err != nil || len(ours) == 0 {
		return err
	}
	if t.Contexts.Stayed(ours) {
		return nil
	}
	inherited := segment.Forked(t.Proc)
	if inherited { // while another culprit builds its segment the gate is closed for a moment, but not while we have the process stopped
		if err := t.Stops.Stop(func(*process.World) error { inherited = segment.Forked(t.Proc); return nil }); err != nil {
			return err
		}
	}
	if !inherited {
		return attach.TakenBy(t.Proc)
	}
	if err := t.Text.Restore(&patch.RestoreReport{}, mine); err != nil {
		return err
	}
	ours, err = segment.Mappings(t.Proc)
	t.Contexts.Stayed(ours)
	return err
}
