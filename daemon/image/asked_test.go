package image

import (
	"os"
	"testing"

	"culprit/internal/testprog"
)

// TestFaultsAsked: functions whose faults a handler recognises are told, however it knows them and however they were compiled, and
// others of the same program are not.
func TestFaultsAsked(t *testing.T) {
	for _, flags := range [][]string{nil, {"-O0"}, {"-O3", "-no-pie", "-fno-pie"}, {"-O0", "-no-pie", "-fno-pie"}, {"-Os", "-fPIC"}} {
		path := testprog.Build(t, "testdata/odd/faulter.c", flags...)
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		st, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		o, err := Open(f, st.Size(), "faulter")
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]bool{"by_label": true, "by_range": true, "by_table": true, "by_section": true, "try_all": false, "target_take_line": false, "target_on_term": false} {
			fns := o.Named(name)
			if len(fns) != 1 {
				if want {
					t.Errorf("%v: %d functions %s", flags, len(fns), name)
				}
				continue // inlined
			}
			w, err := o.Flow(fns[0])
			if err != nil {
				t.Fatalf("%v: %s: %v", flags, name, err)
			}
			if got := o.FaultsAsked(fns[0], w); got != want {
				t.Errorf("%v: %s: %v, want %v", flags, name, got, want)
			}
		}
	}
}
