package elffile

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// TestDebugLinkNames: a link names a file in a directory, and nothing else.
func TestDebugLinkNames(t *testing.T) {
	for text, want := range map[string]string{
		"prog.debug\x00\x00\x01\x02\x03\x04": "prog.debug",
		"abc\x00\x01\x02\x03\x04":            "abc",
		"../x\x00\x00\x00\x00\x01\x02\x03":   "",
		"/etc/x\x00\x00\x01\x02\x03\x04":     "",
		"..\x00\x00\x01\x02\x03\x04":         "",
		".\x00\x00\x00\x01\x02\x03\x04":      "",
		"\x00\x00\x00\x00\x01\x02\x03\x04":   "",
		"abc\x00\x01\x02\x03":                "",
		"no end":                             "",
		"":                                   "",
		strings.Repeat("x", 256) + "\x00\x00\x00\x00\x01\x02\x03\x04": "",
	} {
		got := ""
		if l := parseDebugLink([]byte(text)); l != nil {
			got = l.name
			if l.crc != 0x04030201 {
				t.Errorf("%q: checksum %#x", text, l.crc)
			}
		}
		if got != want {
			t.Errorf("%q leads to %q, want %q", text, got, want)
		}
	}
}

// packed is b as xz packs it.
func packed(t testing.TB, b []byte, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("xz", append([]string{"-c"}, args...)...)
	cmd.Stdin = bytes.NewReader(b)
	out, err := cmd.Output()
	if err != nil {
		require.Skipf(t, "needs xz: %v", err)
	}
	return out
}

// TestXZ expands what xz packs in all the ways that it may.
func TestXZ(t *testing.T) {
	long, err := os.ReadFile(filepath.Join(testprog.Root(t), "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	long = bytes.Repeat(long, 40)
	for _, args := range [][]string{{}, {"-9e"}, {"--check=none"}, {"--check=crc32"}, {"--check=sha256"}, {"-T2", "--block-size=65536"}} {
		for _, want := range [][]byte{{}, []byte("a"), long, bytes.Repeat([]byte{0}, 1<<20)} {
			blocks, size, err := xzBlocks(packed(t, want, args...))
			if err != nil || size != uint64(len(want)) {
				t.Fatalf("%v: %d bytes of %d: %v", args, size, len(want), err)
			}
			if got, err := expandXZ(blocks, size); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%v: %d bytes expand to others: %v", args, len(want), err)
			}
		}
	}
	if _, _, err := xzBlocks(packed(t, long, "--x86", "--lzma2")); err != errXZKind {
		t.Errorf("another filter: %v", err)
	}
}

// bomb is a block of chunks that claim to expand to 2 MiB each.
func bomb(chunks int, dict byte) []byte {
	b := []byte("\xfd7zXZ\x00\x00\x01\x00\x00\x00\x00\x02\x00\x21\x01")
	b = append(b, dict, 0, 0, 0, 0, 0, 0, 0)
	for range chunks {
		b = append(b, 0xff, 0xff, 0xff, 0, 0, 0x5d, 0)
	}
	b = append(b, 0)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return append(b, 0, 0, 0, 0, 0)
}

// TestXZBombs: what claims to expand to too much is refused before memory is asked for, and a dictionary is no larger than what is expanded.
func TestXZBombs(t *testing.T) {
	plain := testprog.Strip(t, testprog.BuildSource(t, testprog.SwitchC, "-O1"))
	for name, b := range map[string][]byte{"much": bomb(1000, 40), "a large dictionary": bomb(1, 40), "nothing": bomb(0, 40)} {
		f := openPath(t, testprog.WithSections(t, plain, []testprog.Section{{Name: ".gnu_debugdata", Data: b}}))
		told := ""
		f.OnLeftOut(func(text string) { told += text })
		if f.DebugFile() != nil {
			t.Errorf("%s: it was used", name)
		}
		if used := f.share.taken.Load(); !strings.Contains(told, "the names in .gnu_debugdata of prog were not used") || used > 8<<20 {
			t.Errorf("%s: told %q, %d bytes", name, told, used)
		}
	}
}

// FuzzXZ feeds arbitrary bytes to the reader of blocks, and holds what they expand to against xz.
func FuzzXZ(f *testing.F) {
	for _, text := range []string{"", "a", strings.Repeat("abc", 1000)} {
		f.Add(packed(f, []byte(text)))
	}
	f.Add(bomb(3, 40))
	f.Fuzz(func(t *testing.T, b []byte) {
		blocks, size, err := xzBlocks(b)
		if err != nil || size > 1<<20 {
			return
		}
		got, err := expandXZ(blocks, size)
		if err != nil {
			return
		}
		cmd := exec.Command("xz", "-dc", "--single-stream", "-q")
		cmd.Stdin = bytes.NewReader(b)
		if want, err := cmd.Output(); err == nil && !bytes.Equal(got, want) {
			t.Error(cmp.Diff(got, want))
		}
	})
}

// FuzzDebugLink feeds arbitrary bytes to the reader of links.
func FuzzDebugLink(f *testing.F) {
	f.Add([]byte("prog.debug\x00\x00\x01\x02\x03\x04"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if l := parseDebugLink(b); l != nil && (strings.ContainsAny(l.name, "/\x00") || l.name == "..") {
			t.Errorf("%q", l.name)
		}
	})
}
