package daemon

import (
	"debug/elf"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"culprit/daemon/kernel"
	"culprit/daemon/process"
	"culprit/internal/require"
)

// TestSamplesMakeNoTables: a sample in a file whose functions are not known yet waits until they have been read beside, since all that is measured waits
// for whoever reads samples; then it counts.
func TestSamplesMakeNoTables(t *testing.T) {
	cmd := exec.Command(require.Tool(t, "python3"), "-c", "import time; time.sleep(1000)")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	time.Sleep(300 * time.Millisecond) // its libraries are loaded
	d := attachTo(t, cmd.Process.Pid)
	tg := d.targets[0]
	maps, err := tg.Proc.Maps()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(maps, func(m process.Mapping) bool {
		return strings.HasSuffix(m.Path, "/libm.so.6") && strings.Contains(m.Perms.String(), "x")
	})
	if i < 0 {
		t.Skip("this python does not have libm mapped")
	}
	s := &kernel.Sample{PID: cmd.Process.Pid, TID: cmd.Process.Pid}
	s.Regs.IP = uint64(maps[i].Start) - maps[i].Offset + address(t, maps[i].Path, "erf")
	d.mu.Lock()
	taken, making := tg.TakeSample(s), tg.Making()
	for range 7 { // fewer tell nothing
		taken = tg.TakeSample(s) && taken
	}
	d.mu.Unlock()
	if !taken || !making {
		t.Errorf("taken: %t; the functions of a library were read under the lock that all measuring needs: %t", taken, !making)
	}
	erf := key(t, "cpu", "/Code/libm.so.6/erf").Focus
	for end := time.Now().Add(20 * time.Second); d.Weight(erf, "cpu") == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the samples never counted")
		}
	}
}

// address is where a file has a dynamic symbol.
func address(t *testing.T, path, name string) uint64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(syms, func(s elf.Symbol) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("%s has no %s", path, name)
	}
	return syms[i].Value
}
