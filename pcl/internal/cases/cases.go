package cases

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/check"
	"culprit/pcl/lib"
)

// Load loads texts on top of the default library; there must be no problems.
func Load(t testing.TB, texts ...string) *pcl.Library {
	t.Helper()
	lib, problems, err := check.Load(check.Options{Texts: texts})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s", p.Detail())
	}
	return lib
}

// Pair reads a metric-focus pair.
func Pair(t testing.TB, text string) (string, grid.Focus) {
	t.Helper()
	k, err := grid.ParsePair(text)
	if err != nil {
		t.Fatal(err)
	}
	return k.Metric, k.Focus
}

// Kept are the quantities that the default library names, and some events.
var Kept = check.Kept{Quantities: quantities(), Events: []string{"cycles", "instructions"}}

func quantities() (names []string) {
	for _, f := range lib.Files() {
		for _, m := range regexp.MustCompile(`kernel\("(\w+)"\)`).FindAllStringSubmatch(f.Text, -1) {
			names = append(names, m[1])
		}
	}
	return names
}

// Head is what every metric needs beside its name and base.
const Head = `units x; aggregateOperator sum; style EventCounter; `

// A Problem is a text with one thing wrong and a part of what is said of it.
type Problem struct{ Name, Text, Want string }

// WarningsOf are the warnings about a file.
func WarningsOf(lib *pcl.Library, file string) (out []check.Problem) {
	for _, p := range check.Warnings(lib, Kept) {
		if p.Pos.File.Name == file {
			out = append(out, p)
		}
	}
	return out
}

// Quickest is the shortest of some runs in processor time, the collector's included: what others on the machine do is no part of it.
func Quickest(t testing.TB, f func()) time.Duration {
	t.Helper()
	best := time.Hour
	for range 7 {
		began := CPUTime(t)
		f()
		best = min(best, CPUTime(t)-began)
	}
	return best
}

// CPUTime is the processor time that this process has used.
func CPUTime(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Prelude lets small inputs name something.
const Prelude = `resourceList locks is procedure { items { "pthread_mutex_lock", glob "*wait" } }
constraint inside /Code/* is counter { append preInsn $constraint[0].entry (* inside = 1; *) append preInsn $constraint[0].return (* inside = 0; *) }
metric calls { name "calls"; units x; aggregateOperator sum; style EventCounter; constraint inside; base is counter { foreach f in locks append preInsn f.entry constrained (* calls++; *) } }
`

// Complete makes sure that a message names its place, what was found there and what was expected.
func Complete(t testing.TB, name string, p check.Problem) {
	t.Helper()
	detail := p.Detail()
	if p.Pos.Line == 0 || !strings.HasSuffix(detail, "^") {
		t.Errorf("%s: no place or no caret:\n%s", name, detail)
	}
	_, expected, ok := strings.Cut(p.Msg, "expected ")
	counted := strings.HasPrefix(p.Msg, "and ")
	if !counted && (!ok || len(expected) < 3 || !strings.Contains(p.Msg, "found ") && !strings.Contains(p.Msg, "is missing")) {
		t.Errorf("%s: it does not say what was found and what was expected:\n%s", name, detail)
	}
}
