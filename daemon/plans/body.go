package plans

import (
	"culprit/daemon/image"
	"culprit/trampoline/planner"
	"culprit/trampoline/x86"
)

// An unreadable is what ends the planning of a function whose code cannot be read any more: somebody has cut its file short since it was
// decoded.
type unreadable struct{ error }

// planning runs what plans with the code of a body.
func planning(plan func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case unreadable:
			err = r.error
		default:
			panic(r)
		}
	}()
	plan()
	return nil
}

// body moves the function's code to where it is in the target; single is why only single instructions are replaced, or "". The instructions
// of w change; it is used for nothing else.
func (f *Function) body(w *image.Flow, single string) *planner.Body {
	flow := f.Flow()
	b := f.Obj.Bias
	insts := w.Insts
	for i := range insts {
		in := &insts[i]
		in.Addr += b
		if in.Target != 0 {
			in.Target += b
		}
		if in.RIPOff != 0 {
			in.RIPTarget += b
		}
	}
	body := &planner.Body{
		Insts: insts,
		Bytes: func(addr uint64, n int) []byte {
			code, err := f.Obj.Code(addr-b, addr-b+uint64(n))
			if err != nil {
				panic(unreadable{err})
			}
			return code
		},
		Target:    func(addr uint64) bool { return flow.Targets.Has(addr - b) },
		PadEnd:    func(addr uint64) uint64 { return f.Obj.PadEnd(addr-b) + b },
		Pads:      f.of.padsNear,
		Elsewhere: f.of.firstAt,
		Bound:     func(lo, hi uint64) string { return f.Obj.Stays(flow, lo-b, hi-b) },
		Hidden:    flow.Hidden,
		Go:        f.Obj.IsGo(),
		Stay:      x86.FaultDivide,
	}
	if f.Obj.FaultsAsked(f.Fn, flow) {
		body.Stay |= x86.FaultMemory
	}
	if single != "" {
		body.Pads = nil
		if body.Hidden == "" {
			body.Hidden = single
		}
	}
	return body
}

// firstAt decodes the first instructions at an address in the target, as many as one may have to look at there.
func (o *object) firstAt(addr uint64) (insts []x86.Inst, code []byte) {
	at := addr - o.Bias
	for end := at; len(insts) < x86.MostExpects; {
		b, err := o.Code(end, end+x86.MaxLen)
		if err != nil {
			break
		}
		in, err := x86.Decode(b, end+o.Bias)
		if err != nil {
			break
		}
		insts, end = append(insts, in), end+uint64(in.Len)
		code = append(code, b[:in.Len]...)
		if in.Flow != x86.FlowNext {
			break
		}
	}
	return insts, code
}
