package daemon

import (
	"slices"

	"culprit/daemon/image"
	"culprit/daemon/patch"
	"culprit/daemon/process"
)

// Restartable sequences that no file tells of: a program may make their descriptors when it runs. They are seen when it is stopped.

// maxSequences bounds how many are remembered of a target.
const maxSequences = 1 << 10

// noteSequences notes the sequences in the text of files that threads of the stopped target show.
func (t *measured) noteSequences(w *process.World) {
	for _, s := range w.Sequences() {
		o := t.ObjectAt(s.Start)
		end := s.Start + s.Length
		if o == nil || end < s.Start || len(t.sequences) >= maxSequences || o.SequencesRead() && o.InSequence(s.Start-o.Bias, s.Start-o.Bias+1) && o.InSequence(end-1-o.Bias, end-o.Bias) {
			continue
		}
		for _, r := range []image.Range{{Lo: s.Start - 1, Hi: end}, {Lo: s.Abort - 4, Hi: s.Abort + 1}} {
			if !slices.Contains(t.sequences, r) {
				t.sequences = append(t.sequences, r)
			}
		}
	}
}

// inSequence reports whether the site changes or moves bytes of a sequence that was seen.
func (t *measured) inSequence(s *patch.Site) bool {
	if len(t.sequences) == 0 {
		return false
	}
	own := []image.Range{{Lo: s.Addr, Hi: max(s.End(), s.Addr+padJump)}} // a jump may reach into padding
	if h := s.Host; h != nil {
		own = append(own, image.Range{Lo: h.Addr, Hi: h.End()})
	}
	if lo, hi, ok := s.Landing(); ok {
		own = append(own, image.Range{Lo: lo, Hi: hi})
	}
	return slices.ContainsFunc(t.sequences, func(r image.Range) bool {
		return slices.ContainsFunc(own, func(o image.Range) bool { return o.Lo < r.Hi && r.Lo < o.Hi })
	})
}

// sequenceError is why a site is not patched.
func sequenceError(s *patch.Site) error {
	return &process.Refused{Point: patch.At(s.Addr), Reason: "it lies in a restartable sequence, which a thread was seen in"}
}

// checkSequences refuses to patch a site that lies in a sequence. Taking out is always right.
func (t *measured) checkSequences(sites []*patch.Site) error {
	for _, s := range sites {
		if t.inSequence(s) {
			return &patch.SiteError{Site: s, Err: sequenceError(s)}
		}
	}
	return nil
}

// disturbs is the first site of a part that lies in a sequence, nil if none does.
func (p *part) disturbs() *patch.Site {
	i := slices.IndexFunc(p.sites, p.t.inSequence)
	if i < 0 {
		return nil
	}
	return p.sites[i]
}
