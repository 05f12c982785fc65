package pcl_test

import (
	"testing"

	"culprit/pcl/internal/cases"
)

// TestLacking: what a target lacks is told by name; the debug symbols of the C library are named only where they would help.
func TestLacking(t *testing.T) {
	lib := cases.Load(t, `resourceList inner is procedure { items { "__lll_lock_wait", "__lll_lock_wake" }; flavor { any }; }
		resourceList many is procedure { items { "a", "b", glob "c*", "d", "e" }; flavor { any }; }
		metric own { name "own"; `+cases.Head+` counter lock; base is counter by lock { append preInsn $function("mylock").entry (* lock = $arg[0]; own++; *) } }
		metric inside { name "inside"; `+cases.Head+` base is counter { foreach f in inner append preInsn f.entry (* inside++; *) } }
		metric lots { name "lots"; `+cases.Head+` base is counter { foreach f in many append preInsn f.entry (* lots++; *) } }
		metric none { name "none"; `+cases.Head+` base is counter { append preInsn $start.entry (* none++; *) } }`)
	for metric, want := range map[string]string{
		"own": ": mylock", "lots": ": a, b, c*, d ..", "none": "", "cpu": "", "nothing": "",
		"inside": ": __lll_lock_wait, __lll_lock_wake; what is inside of the C library has names where its debug symbols are installed",
	} {
		if got := lib.Lacking(metric); got != want {
			t.Errorf("%s: got %q, want %q", metric, got, want)
		}
	}
}
