package daemon

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
)

// lineOf finds the line of a source file that holds a text.
func lineOf(t *testing.T, file, text string) int {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(testprog.Root(t), file))
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(src, []byte(text))
	if at < 0 {
		t.Fatalf("%s has no %q", file, text)
	}
	return 1 + bytes.Count(src[:at], []byte("\n"))
}

// TestLines counts how often source lines in the middle of functions run.
func TestLines(t *testing.T) {
	t.Parallel()
	const file = "testdata/targets/loops.c"
	for _, flags := range []string{"-O0", "-O2"} {
		t.Run(flags, func(t *testing.T) {
			p := testprog.StartTarget(t, testprog.Build(t, file, flags), "20000", "2")
			lines := map[string]string{"inner_break": "t->inner_break++", "inner_return": "t->inner_return++", "leaf_inside": "t->leaf_inside++"}
			if flags != "-O0" {
				delete(lines, "inner_return") // what the compiler leaves of it stands with another line
			}
			var text string
			for name, src := range lines {
				text += fmt.Sprintf(`metric %s { name "%s"; units runs; unitsType unnormalized; aggregateOperator sum; style EventCounter; doc "A line.";
					base is counter { append preInsn $line("loops.c", %d) (* %s++; *) } }
`, name, name, lineOf(t, file, src), name)
			}
			d := attachWith(t, text, p.PID)
			var s sums
			for name := range lines {
				d.mustEnable(t, &s, key(t, name, "/"))
			}
			p.Say(t, "go")
			p.Expect(t, "DONE", time.Minute)
			counts := p.Counts()
			for name := range lines {
				k := key(t, name, "/")
				d.Disable([]grid.PairKey{k})
				if got := uint64(s.of(k)); got != counts[name] || got == 0 {
					t.Errorf("%s: the line ran %d times by our count, %d by its own", name, got, counts[name])
				}
			}
			t.Log(counts)
			detachClean(t, d, p.PID)
			p.Stop(t)
		})
	}
}
