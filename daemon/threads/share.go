package threads

// A thread block belongs to a thread pointer, which the C library gives to a new thread when the one that had it has ended. Whose growth in
// the time since the last pass is, is known where nobody else can have had the block meanwhile. What may be of several threads is told of
// none of them.

// A Share says whose growth a thread block holds since the last pass. Rows are compared by their address.
type Share struct {
	Of    *Row    // nil: of nobody that is known for certain
	Among [2]*Row // of some of these, if Of is nil
	After bool    // Of may have got the block from a thread that nobody saw
}

// Sure reports whether the growth is of the thread that an element names.
func (s Share) Sure(element string) bool { return s.Of != nil && s.Of.Is(element) }

// Covers reports whether the growth is, or may be, of the thread that an element names.
func (s Share) Covers(element string) bool {
	if s.Sure(element) {
		return true
	}
	for _, r := range s.Among {
		if r != nil && r.Is(element) {
			return true
		}
	}
	return false
}

// ShareOf is the share of the block of a thread pointer at a session time. The block belongs to the live thread tid; 0 if to none that is
// known. calm says that no thread has begun and ended since the last pass: one that has may have had any block that was free. ended says that the
// process has ended.
func (t *Table) ShareOf(fs uint64, tid int, at float64, calm, ended bool) Share {
	last, before, isNew := t.sharers(fs, tid)
	if !calm && last != nil && before == nil && at != t.Refreshed() && !lives(t.cfg.PID, last.TID) {
		last, before = nil, last // it has ended since the threads were looked at
	}
	switch {
	case last != nil && before == nil:
		return Share{Of: last, After: isNew && !calm}
	case last == nil && before == nil:
		return Share{}
	case last == nil && calm && (ended || t.isFree(fs, before.TID)): // else it is of one that began a moment ago
		return Share{Of: before}
	}
	return Share{Among: [2]*Row{last, before}}
}

// isFree reports whether the control block at a thread pointer names no thread, or still the one that had it.
func (t *Table) isFree(fs uint64, before int) bool {
	tid := t.tidAt(fs, t.TIDOffset())
	return tid == 0 || tid == before
}

// sharers are the threads that may have had the block of a thread pointer since the last pass: the one that has it, or that its process has
// ended with, and the one that had it at the last pass and has ended. isNew says that the last one was first seen since.
func (t *Table) sharers(fs uint64, tid int) (last, before *Row, isNew bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, before = t.rows[tid], t.left[fs]
	if last == nil {
		last = t.rows[t.byFS[fs]]
	}
	if last == before {
		last = nil
	}
	return last, before, last != nil && last.since == t.refreshed && last.since != t.first
}
