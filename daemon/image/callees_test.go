package image

import (
	"cmp"
	"slices"
	"testing"

	"culprit/internal/testprog"
)

// What Callees reads from the code of one function is what Flow finds with all code of the object, wherever no part of the function lies elsewhere.
func TestCalleesAreThoseOfTheFlow(t *testing.T) {
	brief, whole := openFile(t, testprog.LibcPath, "libc.so.6"), openFile(t, testprog.LibcPath, "libc.so.6")
	byAddr := func(a, b Exit) int { return cmp.Compare(a.Addr, b.Addr) }
	direct := func(list []Exit) []Exit {
		list = slices.DeleteFunc(slices.Clone(list), func(x Exit) bool { return x.Kind == ExitTailInd && x.Import == "" && x.Target == 0 })
		slices.SortFunc(list, byAddr)
		return list
	}
	compared, exits := 0, 0
	for i, f := range brief.Functions() {
		g := whole.Functions()[i]
		w, err := whole.Flow(g)
		if err != nil || len(w.Parts) != len(g.ranges()) {
			continue
		}
		calls, leaves := brief.Callees(f)
		if !slices.Equal(calls, w.Calls) {
			t.Fatalf("%s calls %v, and %v by its flow", f.Name, calls, w.Calls)
		}
		if got, want := direct(leaves), direct(w.Exits); !slices.Equal(got, want) {
			t.Fatalf("%s is left at %v, and at %v by its flow", f.Name, got, want)
		}
		compared, exits = compared+len(calls), exits+len(leaves)
	}
	if brief.xrefs.Done() {
		t.Error("all code of the object was read")
	}
	if compared < 10_000 || exits < 3_000 {
		t.Errorf("%d calls and %d exits were compared", compared, exits)
	}
}
