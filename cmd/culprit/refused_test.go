package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestWatchOfNothing: a focus that the target does not have is told at once, on the first line, with what is similar, and the session
// ends as failed; what it has is measured all the same.
func TestWatchOfNothing(t *testing.T) {
	p := target(t, "mutex.c")
	c := culprit(t, "attach", fmt.Sprint(p.PID), "--quiet", "--no-search", "--for", "2s", "--json", "@REPORT", "--watch", "procedure_calls@/Code/mutex.c/lokup",
		"--watch", "procedure_calls@/Code/mutex.c/lookup", "--watch", "procedure_calls@/Code/mutx.c/lookup").want(exitFailed)
	first, _, _ := strings.Cut(c.errOut.String(), "\n")
	if !strings.HasPrefix(first, "culprit: --watch procedure_calls@/Code/mutex.c/lokup cannot be measured: ") || !strings.HasSuffix(first, `(did you mean "mutex.c/lookup"?)`) {
		t.Errorf("first line %q\n%s", first, c.story())
	}
	c.has(&c.errOut, `procedure_calls@/Code/mutx.c/lookup was not measured: `).has(&c.out, "No bottleneck was looked for (--no-search).")
	if strings.Contains(c.out.String(), "No bottleneck found") {
		t.Errorf("%s", c.story())
	}
	r := c.read()
	if !r.NotSearched || len(r.Pairs) != 3 || r.Pairs[0].Error == "" || r.Pairs[1].Error != "" || r.Pairs[1].Sum == 0 || r.Pairs[2].Error == "" {
		t.Errorf("%+v", r.Pairs)
	}
	untouched(t, p)
}

// TestNothingMatches: foci and callees say what is similar to what is not there, with the status of a failure.
func TestNothingMatches(t *testing.T) {
	p := target(t, "mutex.c")
	pid := fmt.Sprint(p.PID)
	c := culprit(t, "foci", pid, "lokup").want(exitFailed)
	c.has(&c.errOut, `nothing in the process matches "lokup" (did you mean "lookup"?)`)
	if c.out.Len() > 0 {
		t.Errorf("%s", c.story())
	}
	c = culprit(t, "foci", pid, "lokup", "--json").want(exitFailed)
	if !bytes.Equal(bytes.TrimSpace(c.out.Bytes()), []byte("[]")) {
		t.Errorf("%s", c.story())
	}
	culprit(t, "foci", pid, "lookup").want(exitNothing)
	for name, near := range map[string]string{"mutx.c/lookup": "mutex.c/lookup", "libc.so.6/lookup": "mutex.c/lookup", "mutex.c/lokup": "mutex.c/lookup"} {
		c := culprit(t, "callees", pid, name).want(exitFailed)
		c.has(&c.errOut, fmt.Sprintf("did you mean %q?", near))
	}
	untouched(t, p)
}
