package patch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"culprit/daemon/arch"
	"culprit/daemon/process"
	"culprit/daemon/segment"
	"culprit/trampoline"
	"culprit/trampoline/planner"
)

// leftovers are what is to be undone in a process.
type leftovers struct {
	t       *Text
	heads   []process.Mapping // of the segments that are there
	entries []trampoline.Entry
	islands []process.Mapping
	texts   []process.Diff // where the text is not as in the files
	files   []fileText     // what these have there
	noFiles error          // why the text could not be compared with the files
}

// leftovers looks for what is to be undone, while the process runs: its culprit is dead, and nothing changes but by the process itself; or by a
// culprit that comes and dies: see areAll.
func (t *Text) leftovers(r *RestoreReport) (*leftovers, error) {
	u := &leftovers{t: t}
	maps, err := segment.Mappings(t.Proc)
	if err != nil {
		return nil, err
	}
	u.heads = headsOf(maps)
	for _, m := range maps {
		if m.Perms&process.Exec != 0 {
			u.islands = append(u.islands, m)
		}
	}
	if u.entries, err = ledgerOf(t.Proc, r); err != nil {
		r.Damaged++
	}
	u.texts, u.noFiles = t.Proc.DiffText()
	if u.noFiles != nil && r.Damaged > 0 {
		return nil, fmt.Errorf("the ledger is damaged, and the text cannot be compared with its files: nothing was changed: %w", u.noFiles)
	}
	for _, d := range u.texts {
		u.files = append(u.files, t.fileText(uint64(d.Addr)-aroundDiff, d.Bytes+2*aroundDiff)...)
	}
	return u, nil
}

func headsOf(ours []process.Mapping) []process.Mapping {
	return slices.DeleteFunc(slices.Clone(ours), func(m process.Mapping) bool { return !segment.IsHead(m) })
}

// errChanged says that something else is in a process than was found before it was stopped.
var errChanged = errors.New("what culprits have left in the process changes all the time; try again")

// areAll finds out, in a stop, whether what was found is what is there: a culprit may have come and died since. Each has a head of its own.
func (u *leftovers) areAll() error {
	maps, err := segment.Mappings(u.t.Proc)
	if err == nil && !slices.Equal(headsOf(maps), u.heads) {
		return errChanged
	}
	return err
}

// A fileText is what a file has for a piece of the text.
type fileText struct {
	addr uint64
	code []byte
}

// aroundDiff is how far before and behind a difference it may matter what the file has: where a jump begins or ends that happens to have bytes
// of the file.
const aroundDiff = 16

// fileText reads what the file has, before anything stands still; where it has no n bytes, piece by piece.
func (t *Text) fileText(addr uint64, n int) (pieces []fileText) {
	if code := t.Host.FileBytes(addr, n); code != nil {
		return []fileText{{addr, code}}
	}
	for i := range n {
		if code := t.Host.FileBytes(addr+uint64(i), 1); code != nil {
			pieces = append(pieces, fileText{addr + uint64(i), code})
		}
	}
	return pieces
}

// fileBytes is what the file has for n bytes of the text near a difference; nil if that is not known.
func (u *leftovers) fileBytes(addr uint64, n int) []byte {
	for _, f := range u.files {
		if off := addr - f.addr; addr >= f.addr && off+uint64(n) <= uint64(len(f.code)) {
			return f.code[off : off+uint64(n)]
		}
	}
	return u.t.Host.FileBytes(addr, n)
}

// undo puts back the bytes and unmaps the segment, in one stop. What leads to a jump goes before the jump.
func (u *leftovers) undo(w *process.World, r *RestoreReport, found *strays) error {
	if err := faultUndo.Hit(u.t.Proc.PID()); err != nil {
		return err
	}
	shorts, longs := u.jumps(w)
	if err := u.atJumpInPadding(w, shorts); err != nil {
		return err
	}
	for _, short := range []bool{true, false} {
		for _, e := range u.entries {
			if (e.Len == shortJump) == short {
				if err := restoreEntry(w, e, r); err != nil {
					return err
				}
			}
		}
	}
	for _, j := range append(shorts, longs...) {
		if err := u.fromFile(w, j, r); err != nil {
			return err
		}
	}
	if err := faultUndone.Hit(u.t.Proc.PID()); err != nil {
		return err
	}
	if err := w.Pending(); err != nil { // it may bring something more
		return err
	}
	maps, err := w.Maps()
	if err != nil {
		return err
	}
	if err := u.t.unmapOurs(w, found, segment.AllIn(u.t.Proc, maps), maps, true); err != nil {
		return err
	}
	left, err := segment.Mappings(u.t.Proc)
	r.Unmapped, r.Staying = len(left) == 0, len(left)
	return err
}

const (
	shortJump = 2 // eb rel8
	longJump  = 5 // e9 rel32
)

// A foundJump is a run of bytes in the text that is not as in the file and leads into an island.
type foundJump struct {
	addr uint64
	now  []byte
	to   uint64 // of a short one: where the long jump is
}

// jumps finds the jumps of ours in the text. An existing branch that was retargeted looks like the last four bytes of one.
func (u *leftovers) jumps(w *process.World) (shorts, longs []foundJump) {
	taken := uint64(0)
	for _, d := range u.texts {
		lo := uint64(d.Addr) - longJump
		code := readCode(w, lo, d.Bytes+longJump, 2*longJump)
		for i := 1; i < d.Bytes+longJump && i+4 <= len(code); i++ {
			at := lo + uint64(i)
			if to := leadsTo(code[i:], at); at-1 >= taken && u.island(to) && u.branch(code, lo, i-1) {
				from, n := i-1, longJump
				if u.stub(w, to) {
					n = u.punned(w, code, lo, from)
				}
				if n == maxPunned && at-2 >= taken && u.prefixed(w, code, lo, from) {
					from, n = from-1, n+1
				}
				longs = append(longs, foundJump{addr: lo + uint64(from), now: code[from : from+n]})
				taken = lo + uint64(from+n)
			}
		}
	}
	at := map[uint64]bool{}
	for _, j := range longs {
		at[j.addr] = j.now[0] == arch.Jump
	}
	for _, d := range u.texts {
		lo := uint64(d.Addr) - 1
		code := make([]byte, d.Bytes+shortJump)
		if w.ReadMem(process.Addr(lo), code) != nil {
			continue
		}
		for i := range d.Bytes + 1 {
			to := lo + uint64(i) + shortJump + uint64(int64(int8(code[i+1])))
			if code[i] == arch.ShortJump && at[to] {
				shorts = append(shorts, foundJump{addr: lo + uint64(i), now: code[i : i+shortJump], to: to})
			}
		}
	}
	return shorts, longs
}

// readCode reads n bytes and as many as there are of those behind them, more at most; nothing if the n bytes cannot be read.
func readCode(w *process.World, addr uint64, n, more int) []byte {
	code := make([]byte, n+more)
	for ; more >= 0; more-- {
		if code = code[:n+more]; w.ReadMem(process.Addr(addr), code) == nil {
			return code
		}
	}
	return nil
}

// leadsTo is where a displacement at address at leads, if it is one.
func leadsTo(code []byte, at uint64) uint64 {
	return at + 4 + uint64(int64(int32(binary.LittleEndian.Uint32(code))))
}

// branch reports whether the byte at offset i of code is the last of the opcode of a branch with a displacement of four bytes. Four
// bytes that lead into an island by chance would otherwise hide the jump that begins among them. What is not written by us, the
// opcode of a branch that was retargeted, is as it is in the file.
func (u *leftovers) branch(code []byte, lo uint64, i int) bool {
	op := code[i]
	switch {
	case op == arch.Jump:
		return true
	case op == arch.Call, arch.IsFarCond(op) && i > 0 && code[i-1] == arch.Escape:
		old := u.fileBytes(lo+uint64(i), 1)
		return old == nil || old[0] == op
	}
	return false
}

// maxPunned is how much is written at a punned site, but for the prefix that the longest of them have.
const maxPunned = 3 + longJump

// punned is how much of a punned site was written from its jump on, which is at offset i of code and leads to a stub: the branch
// that shares bytes with it does so, too.
func (u *leftovers) punned(w *process.World, code []byte, lo uint64, i int) (n int) {
	n = longJump
	for k := 1; k+longJump <= maxPunned && i+k+longJump <= len(code); k++ {
		op := code[i+k]
		if to := leadsTo(code[i+k+1:], lo+uint64(i+k+1)); arch.IsCallOrJump(op) && u.island(to) && u.stub(w, to) {
			n = k + longJump
		}
	}
	return n
}

// prefixed reports whether the byte before the jump of a punned site, at offset i of code, is our prefix: it is not in the file, and
// not the end of a short jump of another site.
func (u *leftovers) prefixed(w *process.World, code []byte, lo uint64, i int) bool {
	if i < 2 || code[i-1] != planner.NoMeaning {
		return false
	}
	if old := u.fileBytes(lo+uint64(i-1), 1); old == nil || old[0] == planner.NoMeaning {
		return false
	}
	var long [longJump]byte
	at := lo + uint64(i) + planner.NoMeaning
	return code[i-2] != arch.ShortJump || w.ReadMem(process.Addr(at), long[:]) != nil || long[0] != arch.Jump || !u.island(leadsTo(long[1:], at+1))
}

// stub reports whether what lies at an address of an island is the stub of a punned site.
func (u *leftovers) stub(w *process.World, addr uint64) bool {
	var code [segment.StubSize]byte
	if w.ReadMem(process.Addr(addr), code[:]) != nil {
		return false
	}
	return segment.IsStub(addr, code[:])
}

func (u *leftovers) island(addr uint64) bool {
	for _, m := range u.islands {
		if m.Contains(process.Addr(addr)) {
			return true
		}
	}
	return false
}

// atJumpInPadding refuses while a thread is about to do a jump in padding, which holds something else once it is restored.
func (u *leftovers) atJumpInPadding(w *process.World, shorts []foundJump) error {
	var spans []Span
	for i, j := range shorts {
		spans = append(spans, Span{Lo: j.to - 1, Hi: j.to + 1, Owner: i})
	}
	inside, err := u.t.Host.Standing(w, spans)
	if len(inside) > 0 {
		return ErrInside
	}
	return err
}

// fromFile puts back the file's bytes at a jump that is still there.
func (u *leftovers) fromFile(w *process.World, j foundJump, r *RestoreReport) error {
	now := make([]byte, len(j.now))
	if err := w.ReadMem(process.Addr(j.addr), now); err != nil || !bytes.Equal(now, j.now) {
		return nil // the ledger knew it
	}
	old := u.fileBytes(j.addr, len(now))
	if old == nil {
		return fmt.Errorf("cannot restore the code at %#x: the original bytes are unknown. Trampolines were left mapped, so the program keeps running", j.addr)
	}
	if bytes.Equal(now, old) {
		return nil
	}
	r.Restored++
	return w.WriteText(process.Addr(j.addr), old)
}
