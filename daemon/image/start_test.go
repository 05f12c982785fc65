package image

import (
	"path/filepath"
	"testing"

	"culprit/internal/testprog"
)

// startsInlinedSource has a function whose first instruction is one of an inlined function.
const startsInlinedSource = `static volatile int counter;
static inline __attribute__((always_inline)) void bump(void)
{
	counter++;
}
__attribute__((noinline)) void work(void)
{
	bump();
	bump();
}
int main(void)
{
	work();
	return 0;
}
`

// TestStart: a function is written where it is, and not where what is inlined at its beginning is.
func TestStart(t *testing.T) {
	o := openFile(t, testprog.BuildSource(t, startsInlinedSource, "-O2", "-g"), "prog")
	f := one(t, o, "work")
	if file, line, ok := o.Start(f.Addr); !ok || line != 7 { // where its body begins
		t.Errorf("work is written at %s:%d, expected line 7", filepath.Base(file), line)
	}
	if _, line, ok := o.Line(f.Addr); !ok || line != 4 {
		t.Errorf("its first instruction is of line %d, expected 4: the test shows nothing", line)
	}
}
