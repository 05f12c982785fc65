package stops

import (
	"slices"

	"culprit/daemon/image"
	"culprit/daemon/patch"
	"culprit/daemon/process"
	"culprit/daemon/program"
)

// Sequences are restartable sequences that no file tells of: a program may make their descriptors when it runs. They are seen when it is stopped.
type Sequences struct {
	code *program.Program
	seen []image.Range
}

// maxSequences bounds how many are remembered of a process.
const maxSequences = 1 << 10

// longJump is how many bytes a jump takes that reaches any trampoline.
const longJump = 5

// NewSequences are those of a program, of which none was seen yet.
func NewSequences(code *program.Program) *Sequences { return &Sequences{code: code} }

// Look is a Check: it notes the sequences in the text of files that threads of the stopped process show.
func (q *Sequences) Look(w *process.World) error {
	for _, s := range w.Sequences() {
		o := q.code.ObjectAt(s.Start)
		end := s.Start + s.Length
		if o == nil || end < s.Start || len(q.seen) >= maxSequences || o.SequencesRead() && o.InSequence(s.Start-o.Bias, s.Start-o.Bias+1) && o.InSequence(end-1-o.Bias, end-o.Bias) {
			continue
		}
		for _, r := range []image.Range{{Lo: s.Start - 1, Hi: end}, {Lo: s.Abort - 4, Hi: s.Abort + 1}} {
			if !slices.Contains(q.seen, r) {
				q.seen = append(q.seen, r)
			}
		}
	}
	return nil
}

// Forget forgets those of a file that is not mapped any more.
func (q *Sequences) Forget(o *program.Object) {
	q.seen = slices.DeleteFunc(q.seen, func(r image.Range) bool { return o.Holds(r.Lo) })
}

// Refusal is why a site is not patched: it changes or moves bytes of a sequence that was seen. nil if it does not.
func (q *Sequences) Refusal(s *patch.Site) error {
	if !q.disturbedBy(s) {
		return nil
	}
	return &process.Refused{Point: patch.At(s.Addr), Reason: "it lies in a restartable sequence, which a thread was seen in"}
}

func (q *Sequences) disturbedBy(s *patch.Site) bool {
	if len(q.seen) == 0 {
		return false
	}
	own := []image.Range{{Lo: s.Addr, Hi: max(s.End(), s.Addr+longJump)}} // a jump may reach into padding
	if h := s.Host; h != nil {
		own = append(own, image.Range{Lo: h.Addr, Hi: h.End()})
	}
	if lo, hi, ok := s.Landing(); ok {
		own = append(own, image.Range{Lo: lo, Hi: hi})
	}
	return slices.ContainsFunc(q.seen, func(r image.Range) bool {
		return slices.ContainsFunc(own, func(o image.Range) bool { return o.Lo < r.Hi && r.Lo < o.Hi })
	})
}

// Refuse refuses to patch a site that lies in a sequence. Taking out is always right.
func (q *Sequences) Refuse(sites []*patch.Site) error {
	for _, s := range sites {
		if err := q.Refusal(s); err != nil {
			return &patch.SiteError{Site: s, Err: err}
		}
	}
	return nil
}
