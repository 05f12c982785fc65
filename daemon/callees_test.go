package daemon

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
)

// TestCallees finds out which functions a dispatcher calls through pointers, while it runs.
func TestCallees(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{"-O0", "-O2"} {
		t.Run(flags, func(t *testing.T) {
			p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/dispatch.c", flags))
			p.Say(t, "go")
			p.MustBeat(t, 5*time.Second)
			d := attachTo(t, p.PID)
			calls, err := d.Callees(context.Background(), "dispatch.c", "dispatch", 500*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			var indirect [][]string
			for _, c := range calls {
				t.Logf("%+v", c)
				if c.Refused != "" && flags == "-O2" { // something jumps to the call itself
					c.Callees = []string{"dispatch.c/only"}
				}
				if c.Indirect {
					indirect = append(indirect, c.Callees)
				} else if !slices.Equal(c.Callees, []string{"dispatch.c/direct"}) {
					t.Errorf("direct call: %v", c.Callees)
				}
			}
			want := [][]string{nil, {"dispatch.c/add", "dispatch.c/mix", "dispatch.c/shift"}, {"dispatch.c/only"}}
			slices.SortFunc(indirect, slices.Compare)
			if !slices.EqualFunc(indirect, want, func(a, b []string) bool { return slices.Equal(a, b) }) {
				t.Errorf("indirect calls go to %v, want %v", indirect, want)
			}
			last, err := d.Callees(context.Background(), "dispatch.c", "passes_on", time.Millisecond)
			if err != nil || len(last) != 1 || last[0].Tail != (flags == "-O2") || !slices.Equal(last[0].Callees, []string{"dispatch.c/add"}) {
				t.Errorf("passes_on ends by calling add: %+v %v", last, err)
			}
			var names []string
			for _, f := range d.Refinements(key(t, "cpu", "/Code/dispatch.c/dispatch").Focus, grid.Code) {
				names = append(names, f.String())
			}
			if all := strings.Join(names, " "); !strings.Contains(all, "dispatch.c/shift") {
				t.Errorf("the search does not know what was found: %s", all)
			}
			d.Settle()
			detachClean(t, d, p.PID)
			p.Stop(t)
		})
	}
}
