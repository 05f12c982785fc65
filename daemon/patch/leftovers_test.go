package patch

import "testing"

// noFiles is a Host that knows no file.
type noFiles struct{ Host }

func (noFiles) FileBytes(uint64, int) []byte { return nil }

// TestBranchBytes: four bytes that lead into an island by chance are no jump of ours unless the opcode of a branch is before them.
func TestBranchBytes(t *testing.T) {
	u := &leftovers{t: New(Config{Host: noFiles{}})}
	// nop, then a jump that is ours: the three ways to read four bytes too early, and the right one
	code := []byte{0x0F, 0x1F, 0x00, 0x90, 0xE9, 0x11, 0x22, 0x33, 0x00}
	for i, want := range map[int]bool{0: false, 1: false, 2: false, 3: false, 4: true, 5: false} {
		if got := u.branch(code, 0x401000, i); got != want {
			t.Errorf("byte %d (%#x): %v, want %v", i, code[i], got, want)
		}
	}
	for name, c := range map[string]struct {
		code []byte
		i    int
		want bool
	}{
		"call":                       {[]byte{0x90, 0xE8}, 1, true},
		"conditional jump":           {[]byte{0x0F, 0x84}, 1, true},
		"add with an immediate":      {[]byte{0x48, 0x84}, 1, false},
		"first byte of what is read": {[]byte{0x84}, 0, false},
	} {
		if got := u.branch(c.code, 0x401000, c.i); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
