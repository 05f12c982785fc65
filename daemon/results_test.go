package daemon

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
)

// A resultCount is code at a function's return that must count what the target counts itself.
type resultCount struct{ at, code, count string }

var resultCounts = []resultCount{
	{"gives_int", "if ($return < 0) m++", "below"},
	{"gives_int", "if ($return == -1) m++", "all_ones"},
	{"gives_int", "if (0 > $return) m++", "below"},
	{"gives_int", "if ($return < 0) m += 7; if ($return >= 0) m += $return", "sum"},
	{"gives_int", "last = $return; if (last < 0) m++", "below"},
	{"gives_int", "if ((long)$return < 0) m++", "below"},
	{"gives_unsigned", "if ($return >= 0 && $return < 2147483648) m++", "small"},
	{"gives_unsigned", "if ((int)$return >= 0) m++", "small"},
	{"gives_short", "if ($return < 0) m++", "shorts"},
	{"gives_long", "if ($return < 0) m++", "longs"},
	{"gives_bool", "m += $return", "bools"},
	{"gives_bool", "if ($return == 1) m++", "bools"},
	{"gives_char", "if ($return < 0) m++", "chars"},
}

// resultMetrics are metrics m0, m1, .. for the counts.
func resultMetrics(counts []resultCount) string {
	var sb strings.Builder
	for i, c := range counts {
		code := strings.NewReplacer("m++", fmt.Sprintf("m%d++", i), "m +=", fmt.Sprintf("m%d +=", i)).Replace(c.code)
		where, counter := "return", ""
		if strings.Contains(code, "$arg") {
			where = "entry"
		}
		if strings.Contains(code, "last") {
			counter = "counter last; "
		}
		fmt.Fprintf(&sb, `metric m%d { name "m%d"; units x; unitsType unnormalized; aggregateOperator sum; style EventCounter; doc "Of a test."; %sbase is counter { append preInsn $function("%s").%s (* %s; *) } }
`, i, i, counter, c.at, where, code)
	}
	return sb.String()
}

// countResults lets the target run under the metrics and compares what they count with what it counts itself.
func countResults(t *testing.T, bin string, counts []resultCount, more string) {
	t.Helper()
	want := undisturbedDone(t, bin)
	p := testprog.StartTarget(t, bin)
	d := attachWith(t, resultMetrics(counts)+more, p.PID)
	var s sums
	var keys []grid.PairKey
	for i := range counts {
		keys = append(keys, key(t, fmt.Sprint("m", i), "/"))
	}
	d.mustEnable(t, &s, keys...)
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	d.Disable(keys)
	own := p.Counts()
	for i, c := range counts {
		if got := s.of(keys[i]); got != float64(own[c.count]) || got == 0 {
			t.Errorf("%s at %s: %v, the target counts %d", c.code, c.at, got, own[c.count])
		}
	}
	detachClean(t, d, p.PID)
	if got := p.Stop(t); got != want {
		t.Errorf("hash %s, undisturbed %s", got, want)
	}
}

// TestTypedResults: what functions return, and what they take by number, has the size and the sign that DWARF says, in lists of functions
// of several types as well.
func TestTypedResults(t *testing.T) {
	t.Parallel()
	counts := append([]resultCount{
		{"takes", "if ($arg[0] < 0) m++", "taken"},
		{"takes", "if ($arg[1] < 0) m++", "letters"},
		{"takes", "if ($arg.c < 0) m++", "letters"},
		{"gives_dirty", "if ((int)$arg[0] == $arg.n) m++", "dirty"},
	}, resultCounts...)
	bin := testprog.Build(t, "daemon/testdata/results.c", "-fno-inline")
	countResults(t, bin, counts, "")

	p := testprog.StartTarget(t, bin)
	d := attachWith(t, `resourceList mixed is procedure { items { "gives_int", "gives_short", "gives_long" }; flavor { any }; }
metric negatives { name "negatives"; units x; unitsType unnormalized; aggregateOperator sum; style EventCounter;
	base is counter { foreach f in mixed prepend preInsn f.return (* if ($return < 0) negatives++; *) } }`, p.PID)
	var s sums
	negatives := key(t, "negatives", "/")
	d.mustEnable(t, &s, negatives)
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	d.Disable([]grid.PairKey{negatives})
	if got, want := s.of(negatives), float64(p.Counts()["negative"]); got != want || want == 0 {
		t.Errorf("negative results of three types: %v, the target counts %v", got, want)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestResultsWithoutTypes: where DWARF says nothing, casts do; what depends on a type is refused without one, and so is what is known not
// to be a whole number.
func TestResultsWithoutTypes(t *testing.T) {
	t.Parallel()
	casts := []resultCount{
		{"gives_int", "if ((int)$return < 0) m++", "below"},
		{"gives_int", "if ((int)$return == -1) m++", "all_ones"},
		{"gives_short", "if ((short)$return < 0) m++", "shorts"},
		{"gives_long", "if ((long)$return < 0) m++", "longs"},
		{"gives_bool", "m += (bool)$return", "bools"},
		{"gives_int", "if ((int)$return < 0) m += 7; if ((int)$return >= 0) m += (int)$return", "sum"},
		{"gives_char", "if ((char)$return < 0) m++", "chars"},
		{"takes", "if ((int)$arg[0] < 0) m++", "taken"},
		{"takes", "if ((signed char)$arg[1] < 0) m++", "letters"},
		{"gives_int", "if ($return == 4294967295) m++", "all_ones"},
	}
	countResults(t, testprog.Build(t, "daemon/testdata/results.c", "-fno-inline", "-g0"), casts, "")

	for _, c := range []struct{ flag, at, code, want string }{
		{"-g0", "gives_int", "if ($return < 0) m++", "write (int)$return < 0 if it is an int, (long) if it has 64 bits, or build with -g"},
		{"-g0", "takes", "if ($arg[0] < 0) m++", "write (int)$arg[0] < 0 if it is an int"},
		{"-g", "gives_double", "m += $return", "gives_double returns a floating-point number (double), which probes cannot read"},
		{"-g", "gives_double", "m += (int)$return", "gives_double returns a floating-point number (double)"},
		{"-g", "gives_nothing", "m += $return", "gives_nothing returns nothing"},
		{"-g", "takes", "m += $arg.by", "floating-point number (double), which probes cannot read"},
		{"-g", "takes", "m += $arg[2]", `takes has no argument "2"; it has n ($arg[0]), by (floating-point, has no number), c ($arg[1])`},
		{"-g", "takes", "m += (int)$arg[2]", `takes has no argument "2"; it has n ($arg[0])`},
	} {
		bin := testprog.Build(t, "daemon/testdata/results.c", "-fno-inline", c.flag)
		p := testprog.StartTarget(t, bin)
		d := attachWith(t, resultMetrics([]resultCount{{c.at, c.code, ""}}), p.PID)
		var s sums
		r := d.Enable([]grid.PairKey{key(t, "m0", "/")}, &s)
		if r[0].Err == nil || !strings.Contains(r[0].Err.Error(), c.want) {
			t.Errorf("%s at %s with %s: %v, want %q", c.code, c.at, c.flag, r[0].Err, c.want)
		}
		detachClean(t, d, p.PID)
		p.Stop(t)
	}
}
