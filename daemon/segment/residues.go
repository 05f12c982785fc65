package segment

import (
	"culprit/daemon/process"
	"culprit/trampoline"
)

// Branch predictors know branches by the low bits of their addresses. Where a trampoline has the same as text that runs, each takes the
// other's branches for its own: about 11 ns for each pass (measured: Intel, 24 bits). Trampolines therefore keep to pages whose
// addresses differ from those of all text in these bits, as long as there are such.

// residueBits is how many bits count. Processors that look at more do not mind.
const residueBits = 24

// residues say what lies at the pages whose addresses have the same low bits: 0 nothing, textResidue text of the target, else the
// island with that number.
type residues [1 << residueBits / trampoline.PageSize]uint8

const textResidue = 0xff

func residueOf(addr uint64) int { return int(addr >> 12 & (1<<residueBits>>12 - 1)) }

// addText notes where the text of a process is.
func (r *residues) addText(maps []process.Mapping) {
	for _, m := range maps {
		if !m.Executable() || m.Path == "/memfd:"+Name {
			continue
		}
		end := min(uint64(m.End), uint64(m.Start)+1<<residueBits)
		for a := uint64(m.Start) &^ (trampoline.PageSize - 1); a < end; a += trampoline.PageSize {
			r[residueOf(a)] = textResidue
		}
	}
}

// fewestPages is how many pages of an island must be free of text for the others to be left out.
const fewestPages = 256

// keepApart has rooms keep apart from text, if an island has enough pages for that in the half that is meant for them.
func (sp *CodeSpace) keepApart(r *residues, number int) {
	free := 0
	for off := sp.next; off < sp.Size/2; off += trampoline.PageSize {
		if r[residueOf(sp.Addr+off)] == 0 {
			free++
		}
	}
	if free >= fewestPages {
		sp.residues, sp.number = r, uint8(number)
	}
}

// apart moves the place for the next n bytes to where no text has the same low bits, and leaves gaps behind. It reports false when there
// is no such place left.
func (sp *CodeSpace) apart(n int) bool {
	for sp.residues != nil {
		sp.skipStubs(n)
		if sp.next+uint64(n) > sp.Size/2 {
			sp.residues = nil
			break
		}
		page, ok := sp.shared(n)
		if !ok {
			return true
		}
		end := page + trampoline.PageSize
		if k := len(sp.gaps); k > 0 && sp.gaps[k-1].hi == sp.next {
			sp.gaps[k-1].hi = end
		} else {
			sp.gaps = append(sp.gaps, gap{sp.next, end})
		}
		sp.next = end
	}
	return false
}

// shared finds the last page that n bytes would share with text or another island, as an offset.
func (sp *CodeSpace) shared(n int) (page uint64, ok bool) {
	for off := sp.next &^ (trampoline.PageSize - 1); off < sp.next+uint64(n); off += trampoline.PageSize {
		if owner := sp.residues[residueOf(sp.Addr+off)]; owner != 0 && owner != sp.number {
			page, ok = off, true
		}
	}
	return page, ok
}

// claim notes whose n bytes at an offset are.
func (sp *CodeSpace) claim(off uint64, n int) {
	if sp.residues == nil {
		return
	}
	for p := off &^ (trampoline.PageSize - 1); p < off+uint64(n); p += trampoline.PageSize {
		sp.residues[residueOf(sp.Addr+p)] = sp.number
	}
}

// fromGaps takes n bytes out of what was left out.
func (sp *CodeSpace) fromGaps(n int) (off uint64, ok bool) {
	for i := range sp.gaps {
		g := &sp.gaps[i]
		lo := roundUp64(g.lo, 64)
		if lo+uint64(n) > g.hi || sp.stubWithin(sp.Addr+lo, n) {
			continue
		}
		g.lo = lo + uint64(n)
		return lo, true
	}
	return 0, false
}
