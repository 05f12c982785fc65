package process

import (
	"os"
	"path/filepath"
	"testing"

	"culprit/daemon/process/raw"
	"culprit/internal/testprog"
)

// TestMappings: as many are counted as there are.
func TestMappings(t *testing.T) {
	prog := testprog.StartTarget(t, testprog.Build(t, "testdata/odd/manymaps.c"), "20")
	p, err := Look(prog.PID)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	has, most, err := p.Mappings()
	if err != nil || most == raw.Unlimited || has > most+1 || has < most-100 {
		t.Errorf("%d of %d mappings, %v", has, most, err)
	}
	prog.Stop(t)
	if _, _, err := p.Mappings(); err == nil {
		t.Error("one that has ended has mappings")
	}
}

// TestNestedLimits: of a group and those above it that one counts which leaves least, and it is named.
func TestNestedLimits(t *testing.T) {
	root := t.TempDir()
	h := hierarchy{root, "/", "memory.max", "memory.current", "inactive_file"}
	group := func(name, limit, use, idle string) {
		dir := filepath.Join(root, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{h.limit: limit, h.use: use, "memory.stat": "anon 1\ninactive_file " + idle + "\n"} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	group("a", "1000", "900", "50")
	group("a/b", "max", "800", "0")
	group("a/b/c", "2000", "700", "0")
	if n, file := h.leftOf("/a/b/c"); n != 150 || file != filepath.Join(root, "a", h.limit) {
		t.Errorf("%d are left by %s", n, file)
	}
	group("a", "max", "900", "50")
	if n, file := h.leftOf("/a/b"); n != raw.Unlimited || file != "" {
		t.Errorf("%d are left by %q", n, file)
	}
}
