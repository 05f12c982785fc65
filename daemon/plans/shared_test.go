package plans

import (
	"testing"

	"culprit/daemon/program"
	"culprit/internal/require"
	"culprit/pcl"
	"culprit/trampoline/planner"
)

// TestSharedPadding plans functions of the C library alike in two targets, unless the padding that one needs has been taken for another one there.
// What is planned for targets that are gone is not kept.
func TestSharedPadding(t *testing.T) {
	o := openObject(t, require.Object(t, "libc.so.6"))
	twin := &program.Object{Object: o.Object, Name: o.Name}
	var shared Shared
	first, second := NewSet(&shared), NewSet(&shared)
	first.Add(o)
	second.Add(twin)
	byPad := goingByPadding(first, o)
	if len(byPad) < 2 {
		t.Fatal("no two functions of the C library go by padding")
	}
	like, other := byPad[0], byPad[1]
	if pl := second.Made(inObject(twin, like)); pl.Reason() != "" || padOf(pl) != padOf(like) {
		t.Errorf("%s goes by the padding at %#x, and in the other target by that at %#x", like.Fn.Name, padOf(like), padOf(pl))
	} else if pl.Plan() == like.Plan() || pl.Plan().Sites[0] == like.Plan().Sites[0] {
		t.Errorf("%s has one plan in two targets, which grows in either", like.Fn.Name)
	}
	pl := second.Of(inObject(twin, other))
	pl.of.takePad(padOf(other) + planner.JumpLen - twin.Bias)
	if pl.Make(); padOf(pl) == padOf(other) {
		t.Errorf("%s goes by the padding at %#x, which is taken", other.Fn.Name, padOf(other))
	}
	first.Close()
	if n := shared.Kept(); n != 1 {
		t.Errorf("plans of %d files are kept while a target has one", n)
	}
	second.Close()
	if n := shared.Kept(); n != 0 {
		t.Errorf("plans of %d files are kept for targets that are gone", n)
	}
}

// goingByPadding are functions whose entry or exit goes by padding nearby.
func goingByPadding(s *Set, o *program.Object) (found []*Function) {
	for _, fn := range o.Functions() {
		f := s.Made(&program.Function{ID: pcl.FuncID(fn.Addr), Obj: o, Fn: fn})
		if f.Reason() == "" && padOf(f) != 0 {
			found = append(found, f)
		}
	}
	return found
}

// inObject is a function in another target.
func inObject(o *program.Object, f *Function) *program.Function {
	return &program.Function{ID: f.ID, Obj: o, Fn: f.Fn}
}

// padOf is where the first padding is that a function goes by; 0 if it needs none.
func padOf(f *Function) uint64 {
	for _, s := range f.Plan().Sites {
		if s.Tactic == planner.Short {
			return s.Pad.Addr
		}
	}
	return 0
}

// TestGone: a function of an object that is not mapped any more has no points, and says why.
func TestGone(t *testing.T) {
	o := openObject(t, require.Object(t, "libc.so.6"))
	s := NewSet(&Shared{})
	s.Add(o)
	fn := o.Functions()[0]
	f := &program.Function{ID: pcl.FuncID(fn.Addr), Obj: o, Fn: fn}
	s.Drop(o)
	if pl := s.Made(f); pl.Reason() != WhyGone || pl.Plan() != nil || len(pl.Entry()) > 0 {
		t.Errorf("%q, %v", pl.Reason(), pl.Plan())
	}
	s.Close()
}
