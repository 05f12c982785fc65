package image

import (
	"errors"
	"testing"

	"culprit/internal/testprog"
)

// Ways back from signal handlers under names of the program's own, as programs have that bring no C library or switch stacks by themselves.
const sigreturnC = `
__attribute__((naked)) void my_way_back(void) { __asm__("mov $15, %rax; syscall"); }
__attribute__((naked)) void the_short_way(void) { __asm__("mov $15, %eax; syscall"); }
__attribute__((naked)) void another_call(void) { __asm__("mov $14, %rax; syscall; ret"); }
int main(void) { return 0; }
`

func TestSignalReturnByItsBytes(t *testing.T) {
	o := openFile(t, testprog.BuildSource(t, sigreturnC, "-O2"), "prog")
	for _, name := range []string{"my_way_back", "the_short_way"} {
		_, err := o.Flow(one(t, o, name))
		var refused *ErrRefused
		if !errors.As(err, &refused) || refused.Reason != whySignal {
			t.Errorf("%s: %v, want it refused: %s", name, err, whySignal)
		}
	}
	flowOf(t, o, "another_call")
}
