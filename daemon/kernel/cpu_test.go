package kernel

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseCPUList(t *testing.T) {
	for text, want := range map[string][]int{
		"0": {0}, "0-3": {0, 1, 2, 3}, "0-1,4,6-7": {0, 1, 4, 6, 7},
		"": nil, "1-": nil, "3-1": nil, "-1": nil, "a": nil, "0-99999999": nil, "0,,1": nil,
	} {
		got, err := parseCPUList(text)
		if want == nil {
			if err == nil {
				t.Errorf("%q was taken for %v", text, got)
			}
			continue
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v %s", text, err, diff)
		}
	}
}

func TestThisMachineHasCPUs(t *testing.T) {
	cpus, err := OnlineCPUs()
	if err != nil || len(cpus) == 0 {
		t.Fatalf("%v %v", cpus, err)
	}
	n, err := UsableCPUs(os.Getpid())
	if err != nil || n < 1 || n > len(cpus) {
		t.Errorf("%d of %d, %v", n, len(cpus), err)
	}
}
