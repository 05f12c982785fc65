package daemon

import (
	"culprit/daemon/image"
	"culprit/pcl"
)

// Loops are looked for when somebody asks for one: most functions are never asked.

// findLoops gives the loops of a function, none where they are not known (noLoops says why).
func (f *function) findLoops() []image.Loop {
	if f.looked || f.flow() == nil {
		return f.loops
	}
	f.looked = true
	loops, err := f.obj.Loops(f.fn, f.whole())
	if err != nil {
		f.noLoops = err.Error()
	}
	f.loops = loops
	return loops
}

// Loop implements pcl.Env.
func (p *program) Loop(id pcl.FuncID, name string) (number int, ok bool) {
	f := p.funcs[id]
	if f == nil {
		return 0, false
	}
	for i, l := range f.findLoops() {
		if l.Name == name {
			return i, true
		}
	}
	return 0, false
}

// whole is the flow with all instructions.
func (f *function) whole() *image.Flow {
	w, err := f.obj.Flow(f.fn)
	if err != nil { // the file cannot be read any more
		return &image.Flow{Hidden: err.Error()}
	}
	return w
}
