package target

import (
	"slices"

	"culprit/daemon/attach"
	"culprit/daemon/patch"
	"culprit/daemon/process"
	"culprit/daemon/segment"
	"culprit/daemon/stops"
)

// MapSegment creates the shared segment in the process, in two stops, and learns the threads' pointers and stacks.
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
	maps, err := t.Proc.Maps()
	if err != nil {
		return err
	}
	var seg *segment.Segment // with an error: what was mapped and could not be taken out at once
	err = t.Stops.Stop(func(w *process.World) error {
		maps, err := mapsNow(w, maps)
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
		seg, err = segment.Share(w, t.Proc, l, info.Threads, maps)
		return err
	})
	if err == nil {
		err = t.Stops.Stop(seg.OpenGates)
	}
	if err != nil {
		return t.withdraw(seg, err)
	}
	t.use(seg)
	t.Seg.SetPID(info.InnerPID)
	t.Contexts.NoteStays()
	return nil
}

// mapsNow are the mappings of the stopped process. They are those that were read before, if as much code is mapped where it was: what else has changed
// does not matter, since nothing is mapped over anything. Who else measures the process has code in it.
func mapsNow(w *process.World, before []process.Mapping) ([]process.Mapping, error) {
	code, err := w.CodeMaps()
	if err != nil {
		return nil, err
	}
	was := slices.DeleteFunc(slices.Clone(before), func(m process.Mapping) bool { return !m.Executable() || m.Path == "[vsyscall]" })
	if !slices.Equal(code, was) {
		return w.Maps()
	}
	w.Knew(before)
	return before, nil
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
