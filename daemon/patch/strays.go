package patch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"culprit/daemon/arch"
	"culprit/daemon/process"
	"culprit/daemon/segment"
	"culprit/trampoline"
)

// A program may copy its own code while our jumps are in it: to have it in large pages it copies its text to anonymous memory and
// moves that over the original. What we wrote is then where we did not write it, or is back where it had gone. Before trampolines
// go, jumps into them are therefore looked for in all code that is not simply a file's: a copy of something that the ledger has
// ever noted gets the old bytes, wherever it lies, and where anything else leads into them they stay.

// strays are what leads into the trampolines of a process from code that is not simply a file's.
type strays struct {
	proc      *process.Process
	fileBytes func(addr uint64, n int) []byte // as Host.FileBytes
	entries   []trampoline.Entry              // all that the ledger ever held, as far as it remembers
	byJump    map[jumpKey][]leg               // where the jumps in them lie
	into      map[uint64]bool                 // where these lead
	mapped    []process.Mapping               // what was searched

	copies map[uint64]*trampoline.Entry // what the ledger noted, found in code, by address
	others map[uint64]bool              // displacements of further branches that lead there, by address
}

// A jumpKey is what a copy of a jump has of the original, if whole pages are copied: its place in the page and its displacement.
type jumpKey struct {
	off uint16
	rel uint32
}

// inPage masks the place of an address in its page.
const inPage = trampoline.PageSize - 1

// A leg is the displacement of one jump of an entry, which lies so many bytes from its beginning.
type leg struct{ entry, at int }

// A KeptError says that trampolines stay in a process because something leads there.
type KeptError struct {
	Places int
	At     uint64
}

// Error says what and why.
func (e *KeptError) Error() string {
	return fmt.Sprintf("%d places in the program's memory, the first at %#x, are code that it made of code with probes, and lead into trampolines: these stay mapped (they count nothing any more); the program itself is as before",
		e.Places, e.At)
}

// errRemapped says that the program has mapped more code than can be searched while it stands still.
var errRemapped = process.NewPassing("the program maps new code all the time; try again")

// mostSearched is how much new code is searched while the target stands still, in bytes: some 2 ms.
const mostSearched = 2 << 20

// findStrays searches the code of a running process, given the entries of its ledger and what its files have.
func findStrays(p *process.Process, entries []trampoline.Entry, fileBytes func(addr uint64, n int) []byte) (*strays, error) {
	maps, err := p.Maps()
	if err != nil {
		return nil, err
	}
	s := &strays{proc: p, fileBytes: fileBytes, entries: entries, byJump: map[jumpKey][]leg{}, into: map[uint64]bool{}, copies: map[uint64]*trampoline.Entry{}, others: map[uint64]bool{}}
	s.index(segment.MappingsIn(p, maps))
	if len(s.into) == 0 {
		return s, nil
	}
	s.mapped = foreignCode(maps)
	return s, s.search(s.mapped)
}

// findStrays searches the code of the process.
func (t *Text) findStrays() (*strays, error) {
	if t.seg != nil {
		return findStrays(t.Proc, t.seg.Ledger.History(), t.Host.FileBytes)
	}
	entries, err := ledgerHistory(t.Proc)
	if err != nil {
		return nil, err
	}
	return findStrays(t.Proc, entries, t.Host.FileBytes)
}

// foreignCode are the executable mappings that are not ours.
func foreignCode(maps []process.Mapping) (code []process.Mapping) {
	for _, m := range maps {
		if m.Executable() && m.Path != "/memfd:"+segment.Name && m.Path != "[vsyscall]" {
			code = append(code, m)
		}
	}
	return code
}

// index notes where the jumps of the entries lie and lead.
func (s *strays) index(ours []process.Mapping) {
	islands := &leftovers{}
	for _, m := range ours {
		if m.Perms&process.Exec != 0 {
			islands.islands = append(islands.islands, m)
		}
	}
	for i, e := range s.entries {
		for at := 0; at+4 <= e.Len; at++ {
			if at > 0 && !arch.IsCallOrJump(e.New[at-1]) || at == 0 && e.Len != 4 { // alone in a branch that was retargeted
				continue
			}
			to := leadsTo(e.New[at:], e.Addr+uint64(at))
			if !islands.island(to) {
				continue
			}
			k := jumpKey{uint16((e.Addr + uint64(at)) & inPage), binary.LittleEndian.Uint32(e.New[at:])}
			s.byJump[k] = append(s.byJump[k], leg{i, at})
			s.into[to] = true
		}
	}
}

// search looks through mappings.
func (s *strays) search(code []process.Mapping) error {
	for _, m := range code {
		if err := s.proc.OwnCode(m, s.scan); err != nil {
			return err
		}
	}
	s.sift()
	return nil
}

// scan looks at every branch of a piece of code, and at what would be one: where instructions begin is not known.
func (s *strays) scan(at process.Addr, code []byte) {
	for i := 0; i+5 <= len(code); i++ {
		rel := i + 1
		switch op := code[i]; {
		case arch.IsCallOrJump(op):
		case op == arch.Escape && arch.IsFarCond(code[i+1]) && i+6 <= len(code):
			rel++
		default:
			continue
		}
		s.branch(uint64(at)+uint64(rel), code[rel-1], code[rel:rel+4])
	}
}

// branch notes a branch whose displacement lies at an address, behind the last byte of its opcode, if it is ours or leads to where one of ours
// does. What the file has there, too, leads there by chance.
func (s *strays) branch(at uint64, op byte, rel []byte) {
	for _, l := range s.byJump[jumpKey{uint16(at & inPage), binary.LittleEndian.Uint32(rel)}] {
		if s.copy(at-uint64(l.at), l.entry) {
			return
		}
	}
	if s.into[leadsTo(rel, at)] && !bytes.Equal(s.fileBytes(at-1, 5), append([]byte{op}, rel...)) {
		s.others[at] = true
	}
}

// copy notes that all bytes of an entry are at an address, if they are.
func (s *strays) copy(addr uint64, entry int) bool {
	e := &s.entries[entry]
	now := make([]byte, e.Len)
	if s.proc.ReadMem(process.Addr(addr), now) != nil || !bytes.Equal(now, e.New[:e.Len]) {
		return false
	}
	s.copies[addr] = e
	return true
}

// sift keeps those copies that are no chance, and adds the short jumps, which say little alone, beside them. Whole pages are copied: of
// what was moved by as much, either there are several, or around one there is what is around the original.
func (s *strays) sift() {
	byMove := map[uint64][]uint64{}
	for addr, e := range s.copies {
		byMove[addr-e.Addr] = append(byMove[addr-e.Addr], addr)
	}
	for by, addrs := range byMove {
		if by == 0 || len(addrs) > 1 || s.alike(addrs[0], s.copies[addrs[0]]) {
			s.addShort(by)
		} else {
			delete(s.copies, addrs[0])
		}
	}
}

// addShort finds the copies of short jumps that were moved by so much.
func (s *strays) addShort(by uint64) {
	for i := range s.entries {
		if e := &s.entries[i]; e.Len == shortJump {
			s.copy(e.Addr+by, i)
		}
	}
}

// around is how many bytes before or behind a piece have to be as in the original.
const around = 6

// alike reports whether what stands before or behind a copy is what the file or the memory has before or behind the original.
func (s *strays) alike(addr uint64, e *trampoline.Entry) bool {
	for _, off := range []int{-around, e.Len} {
		there := make([]byte, around)
		if s.proc.ReadMem(process.Addr(addr+uint64(off)), there) != nil {
			continue
		}
		here := make([]byte, around)
		if bytes.Equal(there, s.fileBytes(e.Addr+uint64(off), around)) ||
			s.proc.ReadMem(process.Addr(e.Addr+uint64(off)), here) == nil && bytes.Equal(there, here) {
			return true
		}
	}
	return false
}

// spans are where no thread may stand when the copies get their old bytes: at the long jumps that short ones lead to, whose place holds
// something else then.
func (s *strays) spans(owner int) (spans []Span) {
	for addr, e := range s.copies {
		if e.Len == shortJump {
			to := addr + shortJump + uint64(int64(int8(e.New[1])))
			spans = append(spans, Span{Lo: to - 1, Hi: to + longJump, Owner: owner})
		}
	}
	return spans
}

// putBackCopies gives the copies their old bytes, in the stopped target, and fails if anything leads into the trampolines after that.
func (t *Text) putBackCopies(w *process.World, s *strays, maps []process.Mapping) error {
	if err := s.searchNew(maps); err != nil {
		return err
	}
	if err := t.Host.Missing(); err != nil {
		return err
	}
	var r RestoreReport
	for _, short := range []bool{true, false} { // what leads to a jump goes before it
		for addr, e := range s.copies {
			at := *e
			at.Addr = addr
			if (e.Len == shortJump) != short {
				continue
			}
			if err := restoreEntry(w, at, &r); err != nil {
				return &KeptError{1, addr}
			}
		}
	}
	if r.Restored > 0 {
		t.Log(fmt.Sprintf("%s: the program has copied code with probes in it: %d places got their old bytes", t.Name, r.Restored))
	}
	if err := faultCopies.Hit(t.Proc.PID()); err != nil {
		return err
	}
	return s.leading(w)
}

// searchNew searches what was mapped since the search, in the stopped target.
func (s *strays) searchNew(maps []process.Mapping) error {
	if len(s.into) == 0 {
		return nil
	}
	var fresh []process.Mapping
	size := uint64(0)
	for _, m := range foreignCode(maps) {
		if !slices.Contains(s.mapped, m) {
			fresh = append(fresh, m)
			size += m.Len()
		}
	}
	if size > mostSearched {
		return errRemapped
	}
	return s.search(fresh)
}

// leading reports what still leads into the trampolines.
func (s *strays) leading(w *process.World) error {
	var kept *KeptError
	for at := range s.others {
		var rel [4]byte
		if w.ReadMem(process.Addr(at), rel[:]) != nil || !s.into[leadsTo(rel[:], at)] {
			continue
		}
		if kept == nil {
			kept = &KeptError{At: at}
		}
		kept.Places++
	}
	if kept == nil {
		return nil
	}
	return kept
}

// ownMemory is 1 if an address lies in a mapping that shows no file, else 0.
func (s *strays) ownMemory(addr uint64) int {
	for _, m := range s.mapped {
		if m.Contains(process.Addr(addr)) && !m.FileBacked() {
			return 1
		}
	}
	return 0
}
