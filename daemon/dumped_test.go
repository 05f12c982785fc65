package daemon

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"culprit/internal/testprog"
)

var aMapping = regexp.MustCompile(`(?m)^[0-9a-f]+-[0-9a-f]+ .*$`)

// TestCoreDumpsHaveNoMemoryOfOurs: a program that crashes while it is measured writes the core dump that it would have written anyway.
func TestCoreDumpsHaveNoMemoryOfOurs(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/calls.c"), "1000")
	attachTo(t, p.PID)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps", p.PID))
	if err != nil {
		t.Fatal(err)
	}
	heads := aMapping.FindAllIndex(text, -1)
	ours := 0
	for i, at := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		head, rest := string(text[at[0]:at[1]]), string(text[at[1]:end])
		if !strings.Contains(head, "memfd:culprit") && !strings.Contains(head, "bpf-map") {
			continue
		}
		_, flags, _ := strings.Cut(rest, "VmFlags:")
		if ours++; !strings.Contains(flags+" ", " dd ") {
			t.Errorf("%s would be dumped: %s", head, flags)
		}
	}
	if ours < 3 {
		t.Errorf("%d mappings are ours:\n%s", ours, text)
	}
}
