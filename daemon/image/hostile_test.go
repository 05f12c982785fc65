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
	plain := build(t, switchC, "-O1", "-no-pie", "-Wl,-Ttext-segment=0")
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

// settled is what is taken when what earlier tests have left is given back.
func settled() (taken int64) {
	for calm := 0; calm < 20; calm++ {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
		if is := used.Load(); is != taken {
			taken, calm = is, 0
		}
	}
	return taken
}

// TestAllowance: what one file takes is given back when nobody has it any more, and no file gets all of it.
func TestAllowance(t *testing.T) {
	path := testprog.WithSections(t, build(t, switchC), []testprog.Section{{Name: ".debug_str", Data: make([]byte, 8<<20)}})
	was := settled()
	func() {
		o := openFile(t, path, "prog")
		if b := o.debugSection(".debug_str"); len(b) != 8<<20 || used.Load()-was < 8<<20 {
			t.Errorf("%d bytes were read, %d taken", len(b), used.Load()-was)
		}
		runtime.KeepAlive(o)
	}()
	for deadline := time.Now().Add(5 * time.Second); used.Load()-was >= 8<<20; time.Sleep(10 * time.Millisecond) {
		if runtime.GC(); time.Now().After(deadline) {
			t.Fatal("it is not given back")
		}
	}
	old := allowed
	defer func() { allowed = old }()
	allowed = used.Load() + 12<<20
	o := openFile(t, path, "prog")
	told := ""
	o.OnLeftOut(func(text string) { told += text })
	if b := o.debugSection(".debug_str"); b != nil || !strings.Contains(told, "debug information of prog was not read") {
		t.Errorf("%d bytes were read; told %q", len(b), told)
	}
}

// TestIncredibleSections: with section headers that cannot be, a file is read as one that has none.
func TestIncredibleSections(t *testing.T) {
	whole, err := os.ReadFile(build(t, switchC, "-O1"))
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

// TestExpressionsThatAreRun: what jumps or claims memory is not.
func TestExpressionsThatAreRun(t *testing.T) {
	for _, c := range []struct {
		expr []byte
		run  bool
	}{
		{[]byte{0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}, true}, // of a procedure linkage table
		{[]byte{0x77, 0xa0, 1, 0x06}, true},
		{[]byte{0x2f, 0xfd, 0xff}, false},                         // skip -3
		{[]byte{0x31, 0x28, 0xfc, 0xff}, false},                   // bra
		{[]byte{0x9e, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, false}, // an implicit value of terabytes
		{[]byte{0x03, 1, 2}, false},                               // cut off
		{bytes.Repeat([]byte{0x96}, maxExpression+1), false},      // long
		{[]byte{0xf3, 1, 0x55, 0x9f}, false},                      // of another expression
	} {
		if got := simple(c.expr); got != c.run {
			t.Errorf("% x: %v", c.expr, got)
		}
	}
}
