package hypotheses

import (
	"strings"
	"testing"

	"culprit/grid"
)

func TestTreeErrors(t *testing.T) {
	for want, tree := range map[string][][2]string{
		"twice":        {{"a", ""}, {"a", ""}},
		"not defined":  {{"a", "b"}},
		"own ancestor": {{"a", "b"}, {"b", "a"}},
	} {
		var list []*Hypothesis
		var parents []string
		for _, e := range tree {
			list, parents = append(list, &Hypothesis{Name: e[0]}), append(parents, e[1])
		}
		if _, err := Tree(list, parents); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", tree, err, want)
		}
	}
}

func TestTree(t *testing.T) {
	first, reason, deeper := &Hypothesis{Name: "first"}, &Hypothesis{Name: "reason", At: "whole"}, &Hypothesis{Name: "deeper", At: "object"}
	top, err := Tree([]*Hypothesis{deeper, first, reason}, []string{"reason", "", "first"})
	if err != nil {
		t.Fatal(err)
	}
	if !top.IsRoot() || first.IsRoot() || !first.IsFirst() || reason.IsFirst() {
		t.Error("the levels are wrong")
	}
	if !deeper.IsBelow(first) || first.IsBelow(deeper) || first.IsBelow(first) {
		t.Error("who is below whom is wrong")
	}
	lock := grid.Whole().Refine(grid.SyncObject, "Mutex", "jobs")
	if !reason.BelongsAt(grid.Whole()) || reason.BelongsAt(lock) || deeper.BelongsAt(grid.Whole()) || !deeper.BelongsAt(lock) || !first.BelongsAt(lock) {
		t.Error("a hypothesis is tested where it does not belong, or not where it does")
	}
	if deeper.Suppress = []string{"/SyncObject/Mutex/jobs"}; deeper.BelongsAt(lock) {
		t.Error("a hypothesis is tested at what it suppresses")
	}
}
