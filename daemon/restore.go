package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"culprit/daemon/process"
	"culprit/grid"
	"culprit/internal/fault"
	"culprit/trampoline"
)

// A VerifyReport says what of ours is left in a process.
type VerifyReport struct {
	DifferingBytes int      // bytes of executable file mappings that are not as in their files
	Mappings       int      // mappings of ours
	Descriptors    int      // open descriptors of ours
	TracerPID      int      // who traces it, 0 = nobody
	Details        []string // one line per difference, at most 20
}

// Clean reports whether nothing is left.
func (r VerifyReport) Clean() bool {
	return r.DifferingBytes == 0 && r.Mappings == 0 && r.Descriptors == 0 && r.TracerPID == 0
}

// Verify compares every executable page of a process with its file and looks for mappings and tracers.
func Verify(pid int) (r VerifyReport, err error) {
	p, err := process.Open(pid)
	if err != nil {
		return r, err
	}
	defer p.Close()
	diffs, err := p.DiffText()
	if err != nil {
		return r, err
	}
	for _, d := range diffs {
		r.DifferingBytes += d.Bytes
		if len(r.Details) < 20 {
			r.Details = append(r.Details, fmt.Sprintf("%d bytes differ at %v (%s)", d.Bytes, d.Addr, baseName(d.Path)))
		}
	}
	maps, err := ourMappings(p)
	if err != nil {
		return r, err
	}
	r.Mappings = len(maps)
	fds, err := ourDescriptors(p)
	if err != nil {
		return r, err
	}
	r.Descriptors = len(fds)
	info, err := p.Info()
	r.TracerPID = info.Tracer
	return r, err
}

// ourMappings lists what the target maps of a segment.
func ourMappings(p *process.Process) ([]process.Mapping, error) {
	maps, err := p.Maps()
	return allOurs(p, maps), err
}

// allOurs are the mappings of a segment, those of the kernel's rows first: the head says where they are.
func allOurs(p *process.Process, maps []process.Mapping) []process.Mapping {
	ours := oursIn(maps)
	return append(rowMappings(p, ours, maps), ours...)
}

// ourDescriptors lists the descriptors of a segment that the target has open: a culprit was killed while it built one.
func ourDescriptors(p *process.Process) (fds []int, err error) {
	open, err := p.Descriptors()
	for fd, link := range open {
		if link == "/memfd:"+segmentName+" (deleted)" {
			fds = append(fds, fd)
		}
	}
	return append(fds, passing(p, open)...), err
}

// A RestoreReport says what Restore did.
type RestoreReport struct {
	Sites    int  // sites in the ledger
	Restored int  // whose old bytes were put back
	Already  int  // that held them
	Damaged  int  // ledger entries that cannot be believed
	Unmapped bool // whether the segment is gone
}

// errNoLedger says that a process holds nothing of ours.
var errNoLedger = errors.New("culprit has left nothing in it")

// readHeader finds the head of the segment in a process.
func readHeader(p *process.Process) (*trampoline.Header, process.Addr, error) {
	maps, err := p.Maps()
	if err != nil {
		return nil, 0, err
	}
	return headerIn(p, oursIn(maps))
}

// headerIn reads the head of the segment that these mappings belong to, and says where it is.
func headerIn(p *process.Process, ours []process.Mapping) (*trampoline.Header, process.Addr, error) {
	for _, m := range ours {
		if m.Offset == 0 && m.Perms&process.Exec == 0 {
			page := make([]byte, trampoline.PageSize)
			if err := p.ReadMem(m.Start, page); err != nil {
				return nil, 0, err
			}
			h, err := trampoline.DecodeHeader(page)
			return h, m.Start, err
		}
	}
	return nil, 0, errNoLedger
}

// Owner tells who has instrumented a process, from the ledger that it carries. alive says that this culprit still runs.
func Owner(pid int) (daemonPID int, alive, found bool, err error) {
	p, err := readable(pid)
	if err != nil {
		return 0, false, false, err
	}
	defer p.Close()
	return ownerOf(p)
}

// readable opens a process of which only the memory is read. To ask whether it may be traced would take it for a moment from a culprit
// that has it.
func readable(pid int) (*process.Process, error) {
	p, err := process.Look(pid)
	if err == nil && p.Blind() {
		p.Close()
		return process.Open(pid) // which says why not
	}
	return p, err
}

func ownerOf(p *process.Process) (daemonPID int, alive, found bool, err error) {
	h, _, err := readHeader(p)
	if errors.Is(err, errNoLedger) {
		return 0, false, false, nil
	}
	if err != nil {
		return 0, false, true, err
	}
	return h.DaemonPID, process.StartTime(h.DaemonPID) == h.DaemonStart && h.DaemonStart != 0, true, nil
}

// Restore undoes what a culprit that was killed has left in a process: every site gets its old bytes back, and the segment is
// unmapped as soon as no thread is inside it. Old bytes come from the ledger in the process; where a jump of ours is not in it
// (a forked child's may be out of date), from the file. It refuses while that culprit is alive, except in forked children.
func Restore(pid int) (r RestoreReport, err error) {
	if err := fault.FromEnvironment(); err != nil {
		return r, err
	}
	owner, alive, found, err := Owner(pid)
	if err != nil && !found {
		return r, err
	}
	t, err := openTarget(bareDaemon(), pid, process.Open)
	if err != nil {
		return r, err
	}
	defer t.close()
	if alive && !t.forked() {
		return r, fmt.Errorf("culprit with pid %d is attached to process %d and alive: use culprit detach %d", owner, pid, pid)
	}
	return r, t.restore(&r)
}

// restore undoes what is in the process.
func (t *target) restore(r *RestoreReport) error {
	u, err := t.leftovers(r)
	if err != nil {
		return err
	}
	return leaving(func() error {
		earlier := r.Restored // by a try that came as far as the text and had to wait with the rest
		r.Already = 0
		_, err := t.proc.Stop(context.Background(), process.StopOptions{Deadline: stopDeadline}, func(w *process.World) error {
			return u.undo(w, r)
		})
		r.Already = max(r.Already-earlier, 0)
		return err
	})
}

// bareDaemon is enough of a daemon to look at a process's files.
func bareDaemon() *Daemon { return &Daemon{opts: Options{Log: func(string) {}}, tree: grid.NewTree()} }

// ledgerOf reads the ledger of a process; none is no error, as the segment may have been half built, or half unmapped.
func ledgerOf(p *process.Process, r *RestoreReport) ([]trampoline.Entry, error) {
	h, at, err := readHeader(p)
	if errors.Is(err, errNoLedger) || errors.Is(err, trampoline.ErrNoSegment) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	mem, err := usedLedger(p, at+process.Addr(h.LedgerOff()), h.LedgerCap)
	if err != nil {
		return nil, fmt.Errorf("reading the ledger: %w", err)
	}
	entries, damaged := trampoline.Entries(mem)
	r.Sites, r.Damaged = len(entries), damaged
	return entries, nil
}

// usedLedger reads the ledger up to the first chunk that never held anything, so that a sparse file stays sparse.
func usedLedger(p *process.Process, at process.Addr, capacity int) (mem []byte, err error) {
	chunk := make([]byte, 64<<10)
	for left := capacity * trampoline.EntrySize; left > 0; left -= len(chunk) {
		chunk = chunk[:min(len(chunk), left)]
		if err := p.ReadMem(at, chunk); err != nil {
			return mem, err
		}
		if bytes.Count(chunk, []byte{0}) == len(chunk) {
			return mem, nil
		}
		mem = append(mem, chunk...)
		at += process.Addr(len(chunk))
	}
	return mem, nil
}

// restoreEntry puts back one site if it holds what we wrote.
func restoreEntry(w *process.World, e trampoline.Entry, r *RestoreReport) error {
	now := make([]byte, e.Len)
	if err := w.ReadMem(process.Addr(e.Addr), now); err != nil {
		r.Already++ // the code is not mapped any more
		return nil
	}
	switch {
	case bytes.Equal(now, e.Old[:e.Len]):
		r.Already++
		return nil
	case !bytes.Equal(now, e.New[:e.Len]):
		return nil // a later entry of the same site knows these bytes, or it is not ours to change
	}
	r.Restored++
	return w.WriteText(process.Addr(e.Addr), e.Old[:e.Len])
}

// unmapOurs unmaps every mapping of the segment, unless a thread is inside one, and closes descriptors that were left open.
func (t *target) unmapOurs(w *process.World) error {
	maps, err := w.Maps()
	if err != nil {
		return err
	}
	ours := allOurs(t.proc, maps)
	inside, err := t.standing(w, islandSpans(ours))
	switch {
	case err != nil:
		return err
	case len(inside) > 0:
		return errInside
	}
	if err := faultRestored.Hit(t.proc.PID()); err != nil {
		return err
	}
	if err := t.closeLeft(w); err != nil { // while the head still says which
		return err
	}
	for _, m := range ours {
		if err := w.Munmap(m.Start, m.Len()); err != nil {
			return err
		}
		if err := faultUnmap.Hit(t.proc.PID()); err != nil {
			return err
		}
	}
	return nil
}

// islandSpans are the addresses of trampolines.
func islandSpans(ours []process.Mapping) (spans []addrSpan) {
	for i, m := range ours {
		if m.Perms&process.Exec != 0 {
			spans = append(spans, addrSpan{uint64(m.Start) - 1, uint64(m.End), i})
		}
	}
	return spans
}

// closeLeft closes descriptors of a segment that was being built when its culprit was killed.
func (t *target) closeLeft(w *process.World) error {
	fds, err := ourDescriptors(t.proc)
	if err != nil {
		return err
	}
	for _, fd := range fds {
		if err := w.CloseFD(fd); err != nil {
			return err
		}
	}
	return nil
}
