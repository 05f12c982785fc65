package daemon

import (
	"slices"
	"testing"

	"culprit/daemon/libc"
)

// TestKindsOfLocks: a kind of lock that a function of the C library waits for is one that the default library knows, and it knows no function
// that waits of which the kind is not known.
func TestKindsOfLocks(t *testing.T) {
	lib := library(t)
	var kinds []string
	for _, v := range lib.List("sync_kinds").Items {
		kinds = append(kinds, v.Text)
	}
	for _, list := range []string{"sync_funcs", "c11_outer", "once_guards"} {
		for _, v := range lib.List(list).Items {
			w, ok := libc.WaitIn(v.Text)
			if !ok {
				w.Kind = libc.KindOf(v.Text) // it spins
			}
			if !slices.Contains(kinds, w.Kind) {
				t.Errorf("%s: %s waits for a %q, which is none of the kinds in sync_kinds", list, v.Text, w.Kind)
			}
		}
	}
	if !slices.Contains(kinds, libc.Futex) {
		t.Errorf("sync_kinds has no %s, what no library's function waits for", libc.Futex)
	}
}
