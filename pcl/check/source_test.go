package check_test

import (
	"slices"
	"testing"

	"culprit/pcl/check"
)

func TestSourcesMakeTheSameLibrary(t *testing.T) {
	own := `metric mine { name "mine"; units events; style EventCounter; aggregateOperator sum; base is counter { foreach f in $procedures { append preInsn f.entry (* mine++; *) } } }`
	lib, problems, err := check.Load(check.Options{Texts: []string{own}})
	if err != nil {
		t.Fatal(err)
	}
	again, same := check.LoadSources(lib.Sources())
	if len(same) != len(problems) || !slices.Equal(again.Metrics(), lib.Metrics()) || len(again.Hypotheses()) != len(lib.Hypotheses()) {
		t.Errorf("%d problems, then %d; %d metrics, then %d; %d hypotheses, then %d", len(problems), len(same),
			len(lib.Metrics()), len(again.Metrics()), len(lib.Hypotheses()), len(again.Hypotheses()))
	}
	if _, ok := again.Metric("mine"); !ok {
		t.Logf("%v", problems)
		t.Error("the metric of the command line is not in it")
	}
	if got := again.Sources(); !slices.Equal(got, lib.Sources()) {
		t.Error("its own sources are others")
	}
}
