package x86

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestRelocate holds the forms that change.
func TestRelocate(t *testing.T) {
	const from, to = 0x401000, 0x501000
	for _, c := range []struct{ name, hex, want string }{
		{"plain", "4889e5", "4889e5"},
		{"rip-relative load", "488b0510000000", "488b051000f0ff"},
		{"rip-relative with immediate", "c7050000000001000000", "c7050000f0ff01000000"},
		{"rip-relative vex", "c4e27d780500000000", "c4e27d780500 00f0ff"},
		{"rip-relative lea", "488d3d00100000", "488d3d0010f0ff"},
		{"jmp through rip", "ff2500000000", "ff250000f0ff"},
		{"jmp rel8", "eb10", "e90d00f0ff"},
		{"jmp rel32", "e900000000", "e90000f0ff"},
		{"jcc rel8", "7410", "0f840c00f0ff"},
		{"jcc rel32", "0f8f00010000", "0f8f0001f0ff"},
		{"jcc with hint", "3e7410", "3e0f840c00f0ff"},
		{"bnd jmp", "f2eb10", "f2e90d00f0ff"},
		{"jrcxz", "e310", "e302eb05e90900f0ff"},
		{"jecxz", "67e310", "67e302eb05e90900f0ff"},
		{"loop", "e2fe", "e202eb05e9f7ffefff"},
		{"ret", "c3", "c3"},
		{"jmp to register", "ffe0", "ffe0"},
		{"endbr64", "f30f1efa", "f30f1efa"},
	} {
		code := unhex(t, c.hex)
		in, err := Decode(code, from)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got, err := Relocate([]byte{0xAA}, code, in, to)
		if want := "aa" + strings.ReplaceAll(c.want, " ", ""); err != nil || hex.EncodeToString(got) != want {
			t.Errorf("%s: %x, %v, want %s", c.name, got, err, want)
		}
	}
}

// TestRelocateRefuses holds what must stay where it is, and the reach of 2 GiB to the byte.
func TestRelocateRefuses(t *testing.T) {
	for _, h := range []string{"e810000000", "ffd0", "ff1500000000", "0f05", "0f34", "cd80", "cc", "0f0b", "f4", "48cf", "c7f800000000",
		"67488b0500000000", "667410", "66c3", "2e2e2e2e2e2e2e2e2e2e2e7410"} {
		code := unhex(t, h)
		in, err := Decode(code, 0x401000)
		if err != nil {
			t.Fatal(err)
		}
		var re *RelocateError
		if got, err := Relocate(nil, code, in, 0x501000); !errors.As(err, &re) || got != nil || !strings.Contains(err.Error(), "0x401000") {
			t.Errorf("%s: %x, %v", h, got, err)
		}
	}
	code := unhex(t, "488b0500000000")
	in, _ := Decode(code, 1<<40)
	for _, d := range []int64{1<<31 - 1, -1 << 31, 1 << 31, -1<<31 - 1} {
		to := in.RIPTarget - uint64(d) - 7
		_, err := Relocate(nil, code, in, to)
		var far *RangeError
		if ok := d == int64(int32(d)); ok != (err == nil) || !ok && !errors.As(err, &far) {
			t.Errorf("distance %d: %v", d, err)
		}
	}
	other := in
	other.Len = 6
	if _, err := Relocate(nil, code, other, 1<<40); err == nil {
		t.Error("an Inst that does not fit the bytes was accepted")
	}
	if _, err := Relocate(nil, code[:3], in, 1<<40); err == nil {
		t.Error("bytes shorter than the instruction were accepted")
	}
}

// TestTargetsInside checks the question a window asks.
func TestTargetsInside(t *testing.T) {
	in, _ := Decode([]byte{0xEB, 0x02}, 0x1000)
	for _, c := range []struct {
		lo, hi uint64
		want   bool
	}{{0x1004, 0x1005, true}, {0x1000, 0x1004, false}, {0x1005, 0x1010, false}} {
		if in.TargetsInside(c.lo, c.hi) != c.want {
			t.Errorf("jump to 0x1004 into [%#x, %#x)", c.lo, c.hi)
		}
	}
	if plain, _ := Decode([]byte{0x90}, 0); plain.TargetsInside(0, 1) {
		t.Error("a nop leads nowhere")
	}
}

// TestRelocateText lets GNU objdump read every shape of libc at its place and at another one: mnemonic, operands and resolved
// target must be the same.
func TestRelocateText(t *testing.T) {
	needObjdump(t)
	const slot, from, to = 32, 0x10000000, 0x52345000
	orig, moved := []byte{}, []byte{}
	var ins []Inst
	classes := shapesOf(t, "libc.so.6", "libm.so.6")
	for _, h := range extraShapes {
		code := unhex(t, strings.ReplaceAll(h, " ", ""))
		in, err := Decode(code, 0)
		if err != nil {
			t.Fatalf("%s: %v", h, err)
		}
		classes[classOf(in)] = append(classes[classOf(in)], shape{code, in})
	}
	for _, class := range classes {
		for _, s := range class {
			in, err := Decode(s.code, from+uint64(len(orig)))
			if err != nil {
				t.Fatal(err)
			}
			code, err := Relocate(nil, s.code, in, to+uint64(len(moved)))
			if err != nil {
				t.Errorf("% x: %v", s.code, err)
				continue
			}
			ins = append(ins, in)
			orig, moved = padSlot(append(orig, s.code...), slot), padSlot(append(moved, code...), slot)
		}
	}
	a, b := slotLines(t, orig, from, slot), slotLines(t, moved, to, slot)
	t.Logf("%d shapes", len(ins))
	bad := 0
	for i, in := range ins {
		if why := sameText(in, a[i], b[i]); why != "" {
			if bad++; bad < 20 {
				t.Errorf("% x: %s", orig[i*slot:i*slot+in.Len], why)
			}
		}
	}
}

// padSlot fills b with nops up to a multiple of n, as few as possible: objdump is asked for each.
func padSlot(b []byte, n int) []byte {
	a := Asm{buf: b}
	a.Nop((n - len(b)%n) % n)
	return a.Bytes()
}

// slotLines disassembles slots and returns the lines of each.
func slotLines(t *testing.T, code []byte, base uint64, slot int) [][]objLine {
	out := make([][]objLine, len(code)/slot)
	for _, l := range disassemble(t, code, base) {
		i := int(l.addr-base) / slot
		out[i] = append(out[i], l)
	}
	return out
}

// sameText says in what the two readings differ.
func sameText(in Inst, a, b []objLine) string {
	x, y := a[0], b[0]
	if in.Flow == FlowLoop {
		if len(b) < 3 || x.mn != y.mn || b[1].mn != "jmp" || b[2].mn != "jmp" || y.ref != b[2].addr || b[1].ref != b[3].addr || b[2].ref != x.ref {
			return fmt.Sprintf("moved: %q %q %q", y.text, b[1].text, b[2].text)
		}
		return ""
	}
	if x.mn != y.mn || x.ref != y.ref || x.rip != y.rip || x.dir != y.dir {
		return fmt.Sprintf("%q %#x, moved %q %#x", x.text, x.ref, y.text, y.ref)
	}
	if !x.rip && !x.dir && x.text != y.text {
		return fmt.Sprintf("%q, moved %q", x.text, y.text)
	}
	return ""
}
