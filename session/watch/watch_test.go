package watch

import (
	"slices"
	"strings"
	"testing"

	"culprit/grid"
	"culprit/pcl/check"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"cpu": "cpu@/", "cpu@/": "cpu@/", "cpu@/Code/a.c/f": "cpu@/Code/a.c/f",
		"cpu@/Code/a.c/*": "cpu@/Code/a.c +*", "cpu@/Code/*,/Process/7": "cpu@/Code +*",
	} {
		w, err := Parse(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		got := w.Key.Metric + "@" + w.Key.Focus.String()
		if w.every {
			got = w.Key.Metric + "@/" + w.wild.String()
			for _, e := range w.Key.Focus.Elements(w.wild) {
				got += "/" + e
			}
			got += " +*"
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"", "@/", "cpu@", "cpu@Code", "cpu@/Nowhere/x", "cpu@/Code/*,/Process/*"} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}

func TestWatchCheck(t *testing.T) {
	lib, problems, err := check.Load(check.Options{})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	for text, ok := range map[string]bool{
		"procedure_calls@/Code/a.c/*": true, "cpu": true, "nothing": false, "number_of_cpus@/Code/a.c/f": false,
	} {
		w, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Check(lib); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestStarInTheMiddle: a star stands for the last name of a path.
func TestStarInTheMiddle(t *testing.T) {
	if _, err := Parse("cpu@/Process/*/*"); err == nil || !strings.Contains(err.Error(), "has a star in the middle of a path") {
		t.Errorf("%v", err)
	}
}

// TestExpand: a star stands for the children that there are, and a pid for the process of that number.
func TestExpand(t *testing.T) {
	tree := grid.NewTree()
	for _, path := range [][]string{{"a.c", "f"}, {"a.c", "g"}, {"b.c", "h"}} {
		if err := tree.Add(grid.Code, path...); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"srv{142}", "srv{42}"} {
		if err := tree.Add(grid.Process, name); err != nil {
			t.Fatal(err)
		}
	}
	w := &Watcher{tree: tree, state: map[grid.PairKey]*state{}}
	for text, want := range map[string][]string{
		"cpu@/Code/a.c/*":           {"cpu@/Code/a.c/f", "cpu@/Code/a.c/g"},
		"cpu@/Code/b.c/h":           {"cpu@/Code/b.c/h"},
		"cpu@/Code/a.c,/Process/42": {"cpu@/Code/a.c,/Process/srv{42}"},
		"cpu@/Process/7":            {"cpu@/Process/7"},
		"cpu@/Code/none/*":          nil,
	} {
		one, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, key := range w.expand(one) {
			got = append(got, key.String())
		}
		if len(got) != len(want) {
			t.Errorf("%q: %v, want %v", text, got, want)
			continue
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%q: %v, want %v", text, got, want)
			}
		}
	}
}

// TestItems: items of defined hierarchies are watched by their names; a star stands for each that the library has, in order.
func TestItems(t *testing.T) {
	lib, problems, err := check.Load(check.Options{Texts: []string{`
		hierarchy Part { item "b" is { "/Code/b.c" }; item "a" is { "/Code/a.c/f", "/Code/a.c/g" }; }
		hierarchy Lock { item "m" is { "/SyncObject/Mutex/m" }; }`}})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	w := &Watcher{tree: grid.NewTree(), lib: lib, state: map[grid.PairKey]*state{}}
	for text, want := range map[string][]string{
		"cpu@/Part/a":                   {"cpu@/Part/a"},
		"cpu@/Part/*":                   {"cpu@/Part/b", "cpu@/Part/a"},
		"sync_ops@/Lock/*,/Code/a.c/f":  {"sync_ops@/Code/a.c/f,/Lock/m"},
		"sync_ops@/Part/*,/SyncObject/": nil,
		"cpu@/Lock/*":                   nil,
		"cpu@/Part/c":                   nil,
		"cpu@/Part/*/x":                 nil,
		"cpu@/Part/a,/Code/a.c":         nil,
	} {
		one, err := Parse(text, lib.Defined()...)
		if err == nil {
			err = one.Check(lib)
		}
		if (err != nil) != (want == nil) {
			t.Errorf("%q: %v", text, err)
			continue
		}
		var got []string
		if err == nil {
			for _, k := range w.expand(one) {
				got = append(got, k.String())
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q stands for %v, want %v", text, got, want)
		}
	}
}
