package image

import (
	"os"
	"testing"
	"time"

	"culprit/internal/require"
)

// TestMentionsSwitch: libcrypto can leave for other contexts, and says so by name; libstdc++ cannot.
func TestMentionsSwitch(t *testing.T) {
	for name, want := range map[string]bool{"libcrypto.so.3": true, "libstdc++.so.6": false} {
		f, err := os.Open(require.Object(t, name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		st, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		o, err := Open(f, st.Size(), name)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if got := o.MentionsSwitch(); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		t.Logf("%s: looked through in %v", name, time.Since(began))
	}
	for name, want := range map[string]bool{"__swapcontext": true, "jump_fcontext": true, "set_context": false, "": false} {
		if IsSwitcher(name) != want {
			t.Errorf("IsSwitcher(%q) is %v", name, !want)
		}
	}
}
