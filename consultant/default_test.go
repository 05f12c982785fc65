package consultant

import (
	"strings"
	"testing"

	"culprit/consultant/hypotheses"
	"culprit/grid"
	"culprit/pcl/check"
)

// The hypotheses as they are shipped, from PCL text to the sentence.
func TestShippedHypotheses(t *testing.T) {
	lib, problems, err := check.Load(check.Options{})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	for name, c := range map[string]struct {
		act  activity
		want []string
	}{
		"cpu":  {activity{stack: deepStack, kind: "cpu", rate: always(0.9)}, []string{"scan (a.c:41) uses "}},
		"sync": {activity{stack: deepStack, kind: "sync", object: []string{"Mutex", "cache_lock"}, rate: always(0.8)}, []string{"Threads wait ", " for mutex cache_lock in scan (a.c:41)"}},
		"io":   {activity{stack: deepStack, kind: "io", object: []string{"File", "/var/data"}, rate: always(0.8)}, []string{"Threads wait ", "file /var/data in scan (a.c:41)"}},
	} {
		m := newModel(c.act)
		r := &rig{T: t, m: m, g: grid.New(m, lib.Metric, m.now)}
		r.s = New(Config{Hypotheses: lib.Hypotheses(), Grid: r.g, World: &world{model: m}})
		r.runUntil(40, "settled", r.s.Settled)
		found := false
		for _, b := range r.s.Bottlenecks() {
			all := true
			for _, w := range c.want {
				all = all && strings.Contains(b.Sentence, w)
			}
			found = found || all
			t.Logf("%s: %s", name, b.Sentence)
		}
		if !found {
			r.dump()
			t.Errorf("%s: no sentence with %q", name, c.want)
		}
	}
}

// TestShippedSharesAreOfAWhole: a part of what the first questions measure is no more than the whole, so that samples estimate it and findings that
// are the same time are told once.
func TestShippedSharesAreOfAWhole(t *testing.T) {
	lib, _, err := check.Load(check.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range lib.Hypotheses() {
		if h := hypotheses.New(p); len(p.Refine) > 1 && p.Parent == "" && !h.Additive() {
			t.Errorf("%s is not additive", p.Name)
		}
	}
}
