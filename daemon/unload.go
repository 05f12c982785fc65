package daemon

import (
	"slices"

	"culprit/daemon/image"
	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/pcl"
)

// Code that goes away. A library that the target unloads takes our jumps with it; nothing may be written to what is mapped at
// its addresses afterwards. Each batch therefore compares, while the target stands still, what is mapped and what bytes are
// there with what it expects; here what is known of a library is forgotten.

// takeBack puts the old bytes where an object was that is not mapped any more, if our jumps are there all the same.
func (t *measured) takeBack(o *program.Object) {
	switch places, err := t.Text.TakeBack(module{o}); {
	case places == 0:
	case err == nil:
		t.Logf("%s has moved the code of %s to memory of its own: %d places with probes got their old bytes there", t.Name, o.Name, places)
	case !t.Proc.Gone():
		t.Logf("%s: putting back what was there before in code that has moved: %v", t.Name, err)
	}
}

// forget drops the functions and sites of an object that is gone. Children that were forked while it was there may still run
// in its trampolines, which therefore stay.
func (t *measured) forget(o *program.Object) {
	if c := t.plans[o]; c != nil {
		t.d.twins.leave(c)
		delete(t.plans, o)
	}
	t.rates.Forget(func(id pcl.FuncID) bool { return o.Holds(uint64(id)) })
	for _, p := range t.Text.Forget(module{o}) {
		p.(*part).loses(o)
	}
	t.sequences = slices.DeleteFunc(t.sequences, func(r image.Range) bool { return o.Holds(r.Lo) })
}

// fourthIsSpent reports whether nobody behind a system call reads its fourth argument, where the code stays for good.
func (t *measured) fourthIsSpent(ret process.Addr) bool {
	o := t.ObjectAt(uint64(ret))
	return o.Resident() && o.FourthIsSpent(uint64(ret)-o.Bias)
}
