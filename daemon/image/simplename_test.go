package image

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ianlancetaylor/demangle"
)

// TestSimpleNames: names that are read without the demangler are as it reads them, with parameters and without.
func TestSimpleNames(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"a", "work", "_ZN", "E", "Ev", "v", "std", "very_long_name_of_a_function", "_GLOBAL__N_1", "C1", "x17h0123456789abcdef", "17h0123456789abcdef", "operator"}
	types := "wbcahstijlmxyfdezvnogDPRKSIELNC01."
	simple := 0
	for range 200000 {
		var sb strings.Builder
		sb.WriteString("_Z")
		n := r.IntN(4)
		if n > 0 {
			sb.WriteString("N")
		}
		for range max(n, 1) {
			w := words[r.IntN(len(words))]
			fmt.Fprintf(&sb, "%d%s", len(w)+r.IntN(30)/29, w)
		}
		if n > 0 {
			sb.WriteString("E")
		}
		for range r.IntN(4) {
			sb.WriteByte(types[r.IntN(len(types)-r.IntN(2)*16)])
		}
		s := sb.String()
		name, path, ok := simpleName(s)
		if !ok {
			continue
		}
		simple++
		want, err := demangle.ToString(s, demangle.MaxLength(12))
		wantPath, pathErr := demangle.ToString(s, demangle.NoParams, demangle.MaxLength(12))
		if err != nil || pathErr != nil || name != want || path != wantPath {
			t.Fatalf("%s: %q and %q, the demangler says %q and %q (%v, %v)", s, name, path, want, wantPath, err, pathErr)
		}
	}
	if simple < 1000 {
		t.Errorf("only %d names were simple", simple)
	}
}
