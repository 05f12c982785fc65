package unwind

import (
	"bytes"
	"debug/elf"
	"os"
	"testing"

	"culprit/daemon/image/elffile"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// FuzzFrames feeds arbitrary bytes to the readers of frame information and landing pads.
func FuzzFrames(f *testing.F) {
	r, err := os.Open(testprog.LibcPath)
	if err != nil {
		require.Skipf(f, "needs %s: %v", testprog.LibcPath, err)
	}
	defer r.Close()
	headers, err := elf.NewFile(r)
	if err != nil {
		f.Fatal(err)
	}
	b, err := headers.Section(".eh_frame").Data()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b[:2000], uint64(0x26380))
	f.Fuzz(func(t *testing.T, b []byte, pc uint64) {
		for _, eh := range []bool{true, false} {
			x := parseFrames(b, 0x1000, eh)
			for i := range min(len(x.fdes), 100) {
				if w, err := x.fdes[i].rowAt(x.fdes[i].Lo + pc%64); err == nil && w == nil {
					t.Fatal("no row and no error")
				}
			}
		}
		callSites(&elffile.Reader{Rest: b}, pc, pc)
	})
}

// TestRestore holds what delve's table gets wrong: DW_CFA_restore brings back the rule of the CIE, or none.
func TestRestore(t *testing.T) {
	c := &cie{codeAlign: 1, dataAlign: -8, ra: ripColumn, init: []byte{0x0c, 7, 8, 0x90, 1}}
	f := &FDE{Lo: 0x1000, Hi: 0x1020, cie: c, prog: []byte{
		0x41, 0x0e, 16, 0x83, 2, // +1: cfa offset 16, rbx at cfa-16
		0x41, 0x0a, // +2: remember
		0x41, 0x0e, 8, 0xc3, // +3: cfa offset 8, restore rbx
		0x41, 0x0b, // +4: restore state
		0x41, 0x14, 12, 2, // +5: r12 is cfa-16
	}}
	for _, w := range []struct {
		pc   uint64
		off  int64
		kind ruleKind
	}{{0x1000, 8, ruleNone}, {0x1001, 16, ruleOffset}, {0x1003, 8, ruleNone}, {0x1004, 16, ruleOffset}} {
		r, err := f.rowAt(w.pc)
		if err != nil || r.cfaOff != w.off || r.regs[3].kind != w.kind {
			t.Errorf("%#x: %+v %v, want %+v", w.pc, r, err, w)
		}
	}
	if r, _ := f.rowAt(0x1005); r.regs[12].kind != ruleValOffset || r.regs[12].off != -16 {
		t.Errorf("val_offset: %+v", r.regs[12])
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
