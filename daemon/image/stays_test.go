package image

import (
	"testing"

	"culprit/internal/testprog"
)

// TestStays: the bytes that two kinds of instructions share must stay, and those that are read as data; what lies beside them is free.
func TestStays(t *testing.T) {
	for _, flags := range [][]string{nil, {"-no-pie", "-fno-pie"}, {"-s", "-Wl,--export-dynamic"}} {
		o := openFile(t, testprog.Build(t, "testdata/odd/inside.c", flags...), "inside")
		for _, c := range []struct {
			name   string
			lo, hi uint64
			want   string
		}{
			{"over_lock", 0, 7, ""},        // cmpl
			{"over_lock", 7, 9, ""},        // je
			{"over_lock", 9, 13, whyTwice}, // lock addl
			{"over_lock", 13, 15, ""},      // mov
			{"two_ways", 0, 13, ""},        // up to the jump
			{"two_ways", 13, 18, whyTwice}, // mov
			{"two_ways", 18, 23, whyTwice}, // what the other reading takes of the next
			{"two_ways", 23, 26, ""},       // mov, ret
			{"two_entries", 0, 8, ""},
			{"reads_itself", 0, 5, whyRead}, // mov
			{"reads_itself", 11, 13, ""},    // add
			{"reads_behind", 0, 9, ""},      // its constant is no part of it
			{"reads_behind", 12, 16, whyRead},
		} {
			f := o.Named(c.name)[0]
			w, err := o.Flow(f)
			if err != nil {
				t.Fatal(err)
			}
			if got := o.Stays(w, f.Addr+c.lo, f.Addr+c.hi); got != c.want {
				t.Errorf("%v: %s+%d to %d: %q, want %q", flags, c.name, c.lo, c.hi, got, c.want)
			}
		}
		f := o.Named("two_entries")[0]
		if w, err := o.Flow(f); err != nil || !w.Targets.Has(f.Addr+2) {
			t.Errorf("%v: nothing leads to the second entry of two_entries: %v", flags, err)
		}
	}
}
