package grid

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
)

func TestTree(t *testing.T) {
	tr := NewTree()
	for _, path := range [][]string{{"queue.c", "push"}, {"queue.c", "pop"}, {"cache.c"}, {"queue.c"}} {
		if err := tr.Add(Code, path...); err != nil {
			t.Fatal(err)
		}
	}
	if got := tr.Children(Code); !reflect.DeepEqual(got, []string{"cache.c", "queue.c"}) {
		t.Errorf("modules %q", got)
	}
	if got := tr.Children(Code, "queue.c"); !reflect.DeepEqual(got, []string{"pop", "push"}) {
		t.Errorf("functions %q", got)
	}
	if got := tr.Children(Code, "none"); got != nil {
		t.Errorf("children of nothing %q", got)
	}
	if !tr.Exists(Code) || !tr.Exists(Memory) || tr.Exists(Code, "none") || tr.Exists(NumHierarchies) || tr.Len() != 4 {
		t.Errorf("exists is wrong, or %d resources", tr.Len())
	}
	v := tr.Version()
	if tr.Touch(); tr.Version() <= v {
		t.Errorf("version %d -> %d when it was touched", v, tr.Version())
	}
	v = tr.Version()
	if err := tr.Add(Code, "queue.c", "pop"); err != nil || tr.Version() != v {
		t.Errorf("adding again: %v, version %d -> %d", err, v, tr.Version())
	}
	refined := tr.Refinements(mustFocus(t, "/Code/queue.c,/Process/1"), Code)
	if len(refined) != 2 || refined[0].String() != "/Code/queue.c/pop,/Process/1" || refined[1].String() != "/Code/queue.c/push,/Process/1" {
		t.Errorf("refinements %v", refined)
	}
}

func TestTreeRetire(t *testing.T) {
	tr := NewTree()
	add(t, tr, Code, "a", "f")
	add(t, tr, Code, "a", "g")
	v := tr.Version()
	tr.Retire(Code, "a")
	if tr.Version() <= v || tr.Live(Code, "a") || tr.Live(Code, "a", "f") || !tr.Exists(Code, "a", "f") || tr.Children(Code) != nil || tr.Len() != 0 {
		t.Error("not retired as a whole")
	}
	v = tr.Version()
	tr.Retire(Code, "a")
	tr.Retire(Code, "nothing")
	if tr.Version() != v {
		t.Error("version grew without a change")
	}
	add(t, tr, Code, "a", "f")
	if !tr.Live(Code, "a", "f") || tr.Live(Code, "a", "g") || !reflect.DeepEqual(tr.Children(Code, "a"), []string{"f"}) {
		t.Error("not live again, or too much is")
	}
	tr.Retire(Code)
	if tr.Live(Code, "a") || !tr.Live(Code) {
		t.Error("a root was retired, or nothing below it")
	}
}

func TestTreeLabels(t *testing.T) {
	tr := NewTree()
	add(t, tr, SyncObject, "Mutex", "0x55d0")
	v := tr.Version()
	if err := tr.SetLabel("cache_lock", SyncObject, "Mutex", "0x55d0"); err != nil || tr.Version() <= v {
		t.Errorf("label: %v", err)
	}
	if got := tr.Label(SyncObject, "Mutex", "0x55d0"); got != "cache_lock" || tr.Label(SyncObject, "none") != "" {
		t.Errorf("label %q", got)
	}
	if err := tr.SetLabel("x", SyncObject, "none"); err == nil || !strings.Contains(err.Error(), "/SyncObject/none") {
		t.Errorf("label of nothing: %v", err)
	}
}

func TestTreePaths(t *testing.T) {
	tr := NewTree()
	add(t, tr, IO, "File", "", "var", "tmp", "x") // joined, as in a focus
	if !tr.Exists(IO, "File", "/var/tmp/x") || !tr.Exists(IO, mustFocus(t, "/IO/File//var/tmp/x").Elements(IO)...) {
		t.Errorf("files %q", tr.Children(IO, "File"))
	}
	if tr.Add(Code, strings.Repeat("x", maxNameLen+1)) == nil || tr.Add(Code, make([]string, maxDepth+1)...) == nil || tr.Add(NumHierarchies, "x") == nil {
		t.Error("a path out of bounds was taken")
	}
	if tr.SetLabel(strings.Repeat("x", maxNameLen+1), Code) == nil || tr.SetLabel("x", NumHierarchies, "x") == nil {
		t.Error("a label out of bounds was taken")
	}
}

func TestTreeFull(t *testing.T) {
	tr := NewTree()
	tr.max = 10
	for i := range 10 {
		add(t, tr, Process, fmt.Sprint(i))
	}
	var full ErrTreeFull
	if err := tr.Add(Process, "more"); !errors.As(err, &full) || full.Resources != 10 {
		t.Fatalf("the eleventh: %v", err)
	}
	add(t, tr, Process, "3")
	tr.Retire(Process, "3")
	tr.Retire(Process, "4")
	add(t, tr, Process, "more")
	if tr.Exists(Process, "3") || !tr.Live(Process, "more") || tr.Len() != 9 || tr.count != 9 || tr.retired != 0 {
		t.Errorf("%d live, %d in all, %d retired", tr.Len(), tr.count, tr.retired)
	}
}

func TestTreeGoroutines(t *testing.T) {
	tr := NewTree()
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 500 {
				if err := tr.Add(Code, fmt.Sprint(i%50), fmt.Sprint(w)); err != nil {
					t.Error(err)
				}
				tr.Children(Code, fmt.Sprint(i%50))
				if i%10 == 0 {
					tr.Retire(Code, fmt.Sprint(i%50), fmt.Sprint(w))
				}
			}
		})
	}
	wg.Wait()
	if tr.Len() != tr.count-tr.retired || tr.count != 50+200 {
		t.Errorf("%d live, %d in all, %d retired", tr.Len(), tr.count, tr.retired)
	}
}

func add(t *testing.T, tr *Tree, h Hierarchy, elems ...string) {
	t.Helper()
	if err := tr.Add(h, elems...); err != nil {
		t.Fatal(err)
	}
}
