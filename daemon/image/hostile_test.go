package image

import (
	"bytes"
	"encoding/binary"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"culprit/internal/testprog"
)

// TestHostile: what a file claims takes little memory, whatever it is, and an end comes (what is read is limited: a slow machine takes some
// 15 s for it), and the functions are listed.
func TestHostile(t *testing.T) {
	plain := testprog.BuildSource(t, testprog.SwitchC, "-O1", "-no-pie", "-Wl,-Ttext-segment=0")
	for name, sections := range testprog.Hostile() {
		t.Run(name, func(t *testing.T) {
			path := testprog.WithSections(t, plain, sections)
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			began := time.Now()
			o := openFile(t, path, "hostile")
			var said []string
			o.OnLeftOut(func(text string) { said = append(said, text) })
			touch(o)
			o.LineAddrs("a", 3)
			took := time.Since(began)
			runtime.ReadMemStats(&after)
			held := int64(after.HeapAlloc) - int64(before.HeapAlloc)
			if took > time.Minute || held > 1<<30 || after.HeapSys > 3<<30 {
				t.Errorf("took %v, %d MB are held, %d MB were", took, held>>20, after.HeapSys>>20)
			}
			if len(o.Functions()) < 5 {
				t.Errorf("%d functions", len(o.Functions()))
			}
			t.Logf("%v, %d MB held; %s", took.Round(time.Millisecond), held>>20, strings.Join(said, "; "))
			runtime.KeepAlive(o)
		})
	}
}

// TestIncredibleSections: with section headers that cannot be, a file is read as one that has none.
func TestIncredibleSections(t *testing.T) {
	whole, err := os.ReadFile(testprog.BuildSource(t, testprog.SwitchC, "-O1"))
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	for name, damage := range map[string]func(b []byte){
		"too many":       func(b []byte) { le.PutUint16(b[60:], 0) },
		"large":          func(b []byte) { le.PutUint16(b[58:], 0xffff) },
		"far":            func(b []byte) { le.PutUint64(b[40:], 1<<60) },
		"names":          func(b []byte) { le.PutUint16(b[62:], 0xfff0) },
		"names expanded": func(b []byte) { b[le.Uint64(b[40:])+uint64(le.Uint16(b[62:]))*64+9] |= 0x08 },
	} {
		t.Run(name, func(t *testing.T) {
			b := bytes.Clone(whole)
			damage(b)
			o, err := Open(bytes.NewReader(b), int64(len(b)), "prog")
			if err != nil {
				t.Fatal(err)
			}
			told := ""
			o.OnLeftOut(func(text string) { told += text })
			if len(o.Functions()) < 5 || !strings.Contains(told, "section headers of prog were not read") {
				t.Errorf("%d functions; told %q", len(o.Functions()), told)
			}
		})
	}
}
