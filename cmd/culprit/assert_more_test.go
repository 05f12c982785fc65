package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"culprit/cmd/culprit/internal/expect"
)

const lookups = `metric lookupTimes {
	name "lookup_times"; units "s/s"; unitsType normalized; aggregateOperator sum; style EventCounter;
	base is histogram(wallTimer) {
		append preInsn $function("lookup").entry (* startWallTimer(lookupTimes); *)
		prepend preInsn $function("lookup").return (* stopWallTimer(lookupTimes); *)
	}
}
`

// results reads what assert wrote with --json.
func results(t *testing.T, text []byte) (r expect.Results) {
	t.Helper()
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return r
}

// TestAssertQuantiles: single values can be expected, messages have units, and --json - prints nothing but JSON.
func TestAssertQuantiles(t *testing.T) {
	t.Parallel()
	p := startTarget(t, "mutex.c")
	c := culprit(t, "assert", fmt.Sprint(p.PID), "--for", "2s", "--json", "-", "-e", lookups+`expect Q {
		p50(lookup_times) <= p95(lookup_times);
		p99(lookup_times) < 0.000000001;
		count(lookup_times) >= 1;
	}`).want(exitUnexpected)
	r := results(t, c.out.Bytes())
	if r.Held != 2 || r.Failed != 1 || r.Unknown != 0 || r.ExitStatus != exitUnexpected || len(r.Expectations) != 3 {
		t.Fatalf("%s", c.story())
	}
	if e := r.Expectations[1]; e.Unit != "s" || e.Value <= 0 || e.Outcome != "failed" || !strings.HasSuffix(e.Detail, " s, expected below 1e-09 s") {
		t.Errorf("%+v", e)
	}
	if e := r.Expectations[2]; e.Unit != "values" || e.Value < 1 || e.Relation != ">=" {
		t.Errorf("%+v", e)
	}
	untouched(t, p)
}

// TestAssertAgainst: a report of run is a baseline for a later run of the same program, and for one that is not as it was.
func TestAssertAgainst(t *testing.T) {
	t.Parallel()
	p := startTarget(t, "mutex.c")
	dir := t.TempDir()
	base, saved := filepath.Join(dir, "base.json"), filepath.Join(dir, "results.json")
	pclFile := pclFile(t, lookups)
	culprit(t, "attach", fmt.Sprint(p.PID), "--pcl", pclFile, "--no-search", "--for", "3s", "--json", base, "--watch", "active_threads", "--watch", "lookup_times").want(exitNothing)
	c := culprit(t, "assert", fmt.Sprint(p.PID), "--pcl", pclFile, "--for", "3s", "--against", base, "--tolerance", "900%", "--json", saved).want(exitNothing)
	c.has(&c.out, "active_threads@/: ").has(&c.out, "expected within 900 % of ").has(&c.out, "p99(lookup_times) at /: ").has(&c.out, "4 held, 0 failed")
	b, err := os.ReadFile(saved)
	if err != nil {
		t.Fatal(err)
	}
	if r := results(t, b); r.Held != 4 || r.Expectations[0].Set != "as in "+base {
		t.Errorf("%s", b)
	}
	text, err := os.ReadFile(base)
	if err != nil {
		t.Fatal(err)
	}
	r := c.parse(text)
	for i := range r.Pairs {
		r.Pairs[i].Average *= 1000
	}
	if err := r.Save(base); err != nil {
		t.Fatal(err)
	}
	c = culprit(t, "assert", fmt.Sprint(p.PID), "--pcl", pclFile, "--for", "1s", "--against", base).want(exitUnexpected)
	c.has(&c.out, "FAILED  as in "+base+": active_threads@/: ").has(&c.out, "expected within 10 % of ")
	untouched(t, p)
}
