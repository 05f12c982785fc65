package program

import (
	"culprit/daemon/image"
	"culprit/pcl"
)

// Loops are looked for when somebody asks for one: most functions are never asked.

// Loops gives the loops of a function, none where they are not known (WhyNoLoops says why).
func (f *Function) Loops() []image.Loop {
	if f.looked || f.Flow() == nil {
		return f.loops
	}
	f.looked = true
	loops, err := f.Obj.Loops(f.Fn, f.Whole())
	if err != nil {
		f.noLoops = err.Error()
	}
	f.loops = loops
	return loops
}

// Loop implements pcl.Env.
func (p *Program) Loop(id pcl.FuncID, name string) (number int, ok bool) {
	f := p.funcs[id]
	if f == nil {
		return 0, false
	}
	for i, l := range f.Loops() {
		if l.Name == name {
			return i, true
		}
	}
	return 0, false
}

// Whole is the flow with all instructions.
func (f *Function) Whole() *image.Flow {
	w, err := f.Obj.Flow(f.Fn)
	if err != nil { // the file cannot be read any more
		return &image.Flow{Hidden: err.Error()}
	}
	return w
}

// WhyNoLoops says why the loops of a function are not known, after Loops; "" if they are.
func (f *Function) WhyNoLoops() string { return f.noLoops }
