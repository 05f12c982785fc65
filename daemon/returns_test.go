package daemon

import (
	"errors"
	"strings"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
	"culprit/pcl"
)

// TestResultsThatComeLater: $return of a function that ends with a jump to another one is refused, with the name of the other; in a list it is
// left out. Its calls are counted as ever, and a function that jumps to itself has a result of its own.
func TestResultsThatComeLater(t *testing.T) {
	bin := testprog.Build(t, "daemon/testdata/tails.c", "-O2")
	cases := []struct{ at, code, want string }{
		{"wrap", "m += $return", "found $return of wrap, expected a function that returns by itself: wrap ends with a jump to another function (leaf) at 1 of its 2 exits, whose result comes later; measure $return of leaf"},
		{"wrap", "if ((int)$return < 0) m++", "measure $return of leaf"},
		{"only", "m += $return", "at 2 of its 2 exits"},
		{"through", "m += $return", "through ends with a jump to another function at 1 of its 1 exits, whose result comes later; measure $return of the functions that it jumps to"},
	}
	var refused []resultCount
	for _, c := range cases {
		refused = append(refused, resultCount{c.at, c.code, ""})
	}
	want := undisturbedDone(t, bin)
	p := testprog.StartTarget(t, bin)
	d := attachWith(t, resultMetrics(refused)+`
metric calls { name "calls"; units x; unitsType unnormalized; aggregateOperator sum; style EventCounter; base is counter { append preInsn $function("wrap").return (* calls++; *) } }
metric selves { name "selves"; units x; unitsType unnormalized; aggregateOperator sum; style EventCounter; base is counter { append preInsn $function("itself").return (* selves += $return; *) } }
resourceList both is procedure { items { "wrap", "leaf" }; flavor { any }; }
metric leaves { name "leaves"; units x; unitsType unnormalized; aggregateOperator sum; style EventCounter; base is counter { foreach f in both append preInsn f.return (* leaves += $return; *) } }`, p.PID)
	var s sums
	for i, c := range cases {
		err := d.Enable([]grid.PairKey{key(t, "m"+string(rune('0'+i)), "/")}, &s)[0].Err
		if !errors.As(err, new(*pcl.NoResult)) || !pcl.NothingThere(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s at %s: %v, want %q", c.code, c.at, err, c.want)
		}
	}
	keys := []grid.PairKey{key(t, "calls", "/"), key(t, "selves", "/"), key(t, "leaves", "/")}
	d.mustEnable(t, &s, keys...)
	if why := d.common.Refusals.Why("wrap"); !strings.Contains(why, "whose result comes later") {
		t.Errorf("of the list it is said that wrap was refused for %q", why)
	}
	if note := d.Notes(keys[2]); !strings.Contains(note, "wrap takes no probe: its calls are not counted (") {
		t.Errorf("the note of the list is %q", note)
	}
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	d.Disable(keys)
	for _, k := range keys {
		if got := s.of(k); got != float64(p.Counts()[k.Metric]) || got == 0 {
			t.Errorf("%s: %v, the target counts %d", k.Metric, got, p.Counts()[k.Metric])
		}
	}
	detachClean(t, d, p.PID)
	if got := p.Stop(t); got != want {
		t.Errorf("hash %s, undisturbed %s", got, want)
	}
}
