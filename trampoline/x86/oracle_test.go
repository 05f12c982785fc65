package x86

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"culprit/internal/require"
)

// libDirs are where distributions keep shared libraries.
var libDirs = []string{"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/lib64", "/usr/lib"}

// find returns the path of a library, or of a program on the PATH; "" if it is not installed.
func find(name string) string {
	for _, d := range libDirs {
		if p := filepath.Join(d, name); strings.Contains(name, ".so") && exists(p) {
			return p
		}
	}
	p, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	if real, err := filepath.EvalSymlinks(p); err == nil {
		p = real
	}
	return p
}

// exists says whether there is a file.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// odd are the files in which differences may have to be explained: data among the code, or fwait before an x87 instruction.
var odd = map[string]bool{"libm.so.6": true, "libcrypto.so.3": true, "go": true}

// A tally counts what the comparison of one file found.
type tally struct {
	compared  int
	rip       int // instructions with a RIP-relative operand
	branches  int // direct branches and calls
	explained map[string]int
	bad       int
}

// TestOracle compares length, operands and flow with objdump over whole files: zero differences that are not explained.
func TestOracle(t *testing.T) {
	needObjdump(t)
	for _, c := range []struct {
		name   string
		sample int // in the short form, every n-th slice of 64 KiB; 1 = all
	}{
		{"libc.so.6", 1}, {"libm.so.6", 2}, {"libstdc++.so.6", 6}, {"libcrypto.so.3", 6}, {"libgcc_s.so.1", 1}, {"ld-linux-x86-64.so.2", 1},
		{"libpython3*.so.1.0", 30}, {"redis-server", 4}, {"postgres", 60}, {"nginx", 8}, {"sqlite3", 1}, {"gdb", 40}, {"go", 40},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := require.Object(t, c.name)
			if *long {
				c.sample = 1
			}
			tl := tally{explained: map[string]int{}}
			for _, s := range textSections(t, path) {
				compareSection(t, path, s, c.sample, &tl)
			}
			if c.sample == 1 && !odd[c.name] && len(tl.explained) != 0 {
				t.Errorf("this file has no data in .text, so that nothing is to be explained: %v", tl.explained)
			}
			if tl.compared == 0 {
				t.Fatal("nothing compared")
			}
			t.Logf("%s: %d instructions compared, %d with a RIP-relative operand, %d direct branches; %d differences, explained: %v",
				path, tl.compared, tl.rip, tl.branches, tl.bad, tl.explained)
			if tl.rip == 0 || tl.branches == 0 {
				t.Error("no RIP-relative operand or no branch was compared")
			}
		})
	}
}

// compareSection compares every n-th slice of a section.
func compareSection(t *testing.T, path string, s section, n int, tl *tally) {
	const slice = 64 << 10
	for off := 0; off < len(s.data); off += slice * n {
		args := []string{"-d", "-j", s.name, path}
		if n > 1 {
			args = append([]string{fmt.Sprintf("--start-address=%#x", s.addr+uint64(off)), fmt.Sprintf("--stop-address=%#x", s.addr+uint64(min(off+slice, len(s.data))))}, args...)
		}
		skip := n > 1 && off > 0 // a slice may begin inside an instruction
		objdump(t, func(l objLine) {
			if skip = skip && (l.mn != "ret" && l.mn != "int3"); skip {
				return
			}
			i := l.addr - s.addr
			if l.addr < s.addr || i >= uint64(len(s.data)) {
				return
			}
			tl.compare(t, l, s.data[i:min(int(i)+20, len(s.data))], n > 1 && int(i)+16 > off+slice)
		}, args...)
		if n == 1 {
			return
		}
	}
}

// compare holds one instruction against objdump's reading of it.
func (tl *tally) compare(t *testing.T, l objLine, code []byte, atEnd bool) {
	tl.compared++
	in, err := Decode(code, l.addr)
	if l.rip {
		tl.rip++
	}
	if l.dir {
		tl.branches++
	}
	diff := difference(l, in, err)
	if diff == "" {
		return
	}
	if why := explain(l, code, in, err); why != "" {
		tl.explained[why]++
		return
	}
	if atEnd {
		tl.explained["cut off at the end of the slice"]++
		return
	}
	if tl.bad++; tl.bad <= 20 {
		t.Errorf("%#x: % x: %q: %s", l.addr, code[:min(l.n, len(code))], l.text, diff)
	}
}

// difference says in what the two readings differ, "" if in nothing.
func difference(l objLine, in Inst, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case in.Len != l.n:
		return fmt.Sprintf("length %d, objdump %d", in.Len, l.n)
	case l.rip != (in.RIPOff != 0) || l.rip && l.ref != in.RIPTarget:
		return fmt.Sprintf("rip-relative at %d to %#x, objdump %v %#x", in.RIPOff, in.RIPTarget, l.rip, l.ref)
	case l.dir != in.Direct() || l.dir && l.ref != in.Target:
		return fmt.Sprintf("branch to %#x (%d bytes), objdump %v %#x", in.Target, in.RelLen, l.dir, l.ref)
	case l.flow() != in.Flow:
		return fmt.Sprintf("flow %v, objdump %v", in.Flow, l.flow())
	case (strings.HasPrefix(l.mn, "nop") || l.mn == "xchg" && strings.HasSuffix(l.text, " %ax,%ax") && in.Opcode != 0x87) != in.Nop && !hintNop(in):
		return fmt.Sprintf("nop %v", in.Nop)
	case (l.mn == "endbr64") != in.Endbr:
		return fmt.Sprintf("endbr %v", in.Endbr)
	}
	return ""
}

// hintNop says whether the instruction is a hint of 0F 18..1E that objdump calls a nop but that Inst.Nop leaves out.
func hintNop(in Inst) bool { return in.Opcode >= 0x118 && in.Opcode <= 0x11E }

// explain names the reasons for which a difference is right; each is a property of objdump or data among the code.
func explain(l objLine, code []byte, in Inst, err error) string {
	allPrefix := true
	for _, b := range code[:min(l.n, len(code))] {
		allPrefix = allPrefix && prefixOf[b] != 0
	}
	var unknown *Unknown
	switch {
	case strings.Contains(l.text, "(bad)") || strings.Contains(l.text, "{bad}"):
		return "objdump says (bad): data in .text"
	case strings.HasPrefix(l.text, ".byte"):
		return "objdump gives up before a symbol or the end: data in .text"
	case allPrefix || l.mn == "":
		return "objdump prints prefixes on a line of their own"
	case err == nil && strings.Contains(l.text, "(%eip)") && in.RIPTarget == uint64(uint32(l.ref)):
		return "objdump does not cut an eip-relative address to 32 bits"
	case err == nil && in.Opcode == 0x9B && code[0] == 0x9B:
		return "objdump fuses fwait with the x87 instruction behind it"
	case errors.As(err, &unknown):
		return explainUnknown(l, unknown)
	}
	return ""
}

// explainUnknown names the instructions that objdump prints and Decode refuses on purpose.
func explainUnknown(l objLine, u *Unknown) string {
	switch {
	case strings.HasPrefix(u.Why, "66-prefixed branch"):
		return "66-prefixed branch, refused"
	case strings.HasPrefix(u.Why, "3DNow!"):
		return "3DNow!, refused"
	case strings.HasPrefix(u.Why, "VEX, EVEX or XOP behind a prefix"):
		return "VEX behind a prefix that the processor faults on: data in .text"
	case strings.HasPrefix(l.mn, "mov") && (strings.Contains(l.text, "%?") || strings.HasSuffix(l.text, ",%cs")):
		return "mov to or from a segment register that is not there: data in .text"
	}
	return ""
}
