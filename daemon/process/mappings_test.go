package process

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/internal/require"
)

// TestMappingsAreAskedFor: what the kernel says of single mappings, and of those with code, is what the text of all of them says.
func TestMappingsAreAskedFor(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a name\nwith (deleted)")
	must(t, os.WriteFile(file, make([]byte, raw.PageSize), 0o700))
	f := must2(os.Open(file))
	defer f.Close()
	for _, prot := range []int{unix.PROT_READ, unix.PROT_READ | unix.PROT_EXEC, unix.PROT_NONE} {
		for _, flags := range []int{unix.MAP_SHARED, unix.MAP_PRIVATE} {
			mem := must2(unix.Mmap(int(f.Fd()), 0, raw.PageSize, prot, flags))
			defer func() { _ = unix.Munmap(mem) }()
		}
	}
	must(t, os.Remove(file))
	tg := start(t, compile(t, blockedSource)) // its mappings do not change
	if !raw.AsksForMappings() {
		require.Skip(t, "a kernel before Linux 6.11")
	}
	asTheTextSays(t, tg.pid())
	asks := raw.AsksForMappings
	defer func() { raw.AsksForMappings = asks }()
	raw.AsksForMappings = func() bool { return false }
	asTheTextSays(t, tg.pid())
}

func asTheTextSays(t *testing.T, target int) {
	t.Helper()
	for _, pid := range []int{os.Getpid(), target} {
		others := func(m raw.Mapping) bool { // the first is in no process, the others may grow
			return m.Path == "[vsyscall]" || m.Path == "[stack]" || pid == os.Getpid() && m.Inode == 0
		}
		all := slices.DeleteFunc(must2(raw.ReadMaps(pid)), others)
		var addrs []raw.Addr
		for _, m := range all {
			addrs = append(addrs, m.Start, m.End-1)
		}
		at := must2(raw.MappingsAt(pid, append(addrs, 1)))
		for i, m := range all {
			if at[2*i] != m || at[2*i+1] != m {
				t.Errorf("asked for: %+v and %+v\nin the text: %+v", at[2*i], at[2*i+1], m)
			}
		}
		if last := at[len(at)-1]; last != (raw.Mapping{}) {
			t.Errorf("at address 1: %+v", last)
		}
		var code []raw.Mapping
		for _, m := range all {
			if m.Executable() {
				code = append(code, m)
			}
		}
		if got := slices.DeleteFunc(must2(raw.CodeMaps(pid)), others); !slices.Equal(got, code) || len(code) < 2 {
			t.Errorf("code: %+v\nwant %+v", got, code)
		}
	}
}
