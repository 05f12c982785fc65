package x86

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"culprit/internal/require"
)

// long asks for the complete forms of the tests, which take minutes.
var long = flag.Bool("long", false, "run the complete forms of the tests (minutes)")

// An objLine is one instruction as GNU objdump prints it.
type objLine struct {
	addr uint64
	n    int
	text string // mnemonic and operands, without symbol and comment
	mn   string // mnemonic without prefixes
	rip  bool   // has a RIP-relative operand
	ref  uint64 // what the operand after # or the branch points to
	dir  bool   // ref is the target of a direct branch
}

// needObjdump skips the test where binutils is not installed.
func needObjdump(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("objdump"); err != nil {
		require.Skip(t, "no objdump here (package binutils): nothing to compare with")
	}
}

// objdump runs objdump with args and calls f for every instruction.
func objdump(t testing.TB, f func(objLine), args ...string) {
	t.Helper()
	cmd := exec.Command("objdump", append([]string{"-w", "-z"}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := false
	defer func() {
		out.Close() // when f panicked, objdump must not wait for its reader
		if err := cmd.Wait(); err != nil && done {
			t.Fatalf("objdump %v: %v", args, err)
		}
	}()
	sc := bufio.NewScanner(out)
	sc.Buffer(make([]byte, 1<<20), 1<<20)
	for sc.Scan() {
		if l, ok := parseLine(sc.Bytes()); ok {
			f(l)
		}
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	done = true
}

// parseLine reads "  addr:\tbytes \ttext".
func parseLine(b []byte) (l objLine, ok bool) {
	c := bytes.IndexByte(b, ':')
	if c < 0 || len(b) < c+3 || b[c+1] != '\t' {
		return l, false
	}
	addr, err := strconv.ParseUint(string(bytes.TrimLeft(b[:c], " ")), 16, 64)
	if err != nil {
		return l, false
	}
	b = b[c+2:]
	tab := bytes.IndexByte(b, '\t')
	if tab < 0 {
		return l, false
	}
	l.addr, l.n = addr, (len(bytes.TrimRight(b[:tab], " "))+1)/3
	l.text = strings.TrimSpace(string(b[tab+1:]))
	l.fill()
	return l, true
}

// prefixWords are the prefixes that objdump prints as words before a mnemonic.
var prefixWords = map[string]bool{"data16": true, "addr32": true, "lock": true, "rep": true, "repz": true, "repnz": true, "bnd": true,
	"notrack": true, "cs": true, "ds": true, "es": true, "ss": true, "fs": true, "gs": true, "xacquire": true, "xrelease": true, "{evex}": true, "{vex}": true}

// fill takes the text apart.
func (l *objLine) fill() {
	if i := strings.Index(l.text, " # "); i >= 0 {
		l.ref, _ = strconv.ParseUint(strings.TrimPrefix(strings.Fields(l.text[i+3:])[0], "0x"), 16, 64)
		l.text = strings.TrimSpace(l.text[:i])
	} else if i := strings.Index(l.text, "# "); i >= 0 {
		l.ref, _ = strconv.ParseUint(strings.TrimPrefix(strings.Fields(l.text[i+2:])[0], "0x"), 16, 64)
		l.text = strings.TrimSpace(l.text[:i])
	}
	if i := strings.IndexByte(l.text, '<'); i >= 0 {
		l.text = strings.TrimSpace(l.text[:i])
	}
	l.rip = strings.Contains(l.text, "(%rip)") || strings.Contains(l.text, "(%eip)")
	rest := l.text
	for rest != "" {
		var w string
		w, rest, _ = strings.Cut(rest, " ")
		rest = strings.TrimLeft(rest, " ")
		if prefixWords[w] || strings.HasPrefix(w, "rex") {
			continue
		}
		l.mn = strings.TrimSuffix(strings.TrimSuffix(w, ",pn"), ",pt")
		break
	}
	if v, err := strconv.ParseUint(strings.TrimPrefix(rest, "0x"), 16, 64); err == nil && !strings.Contains(rest, "$") && l.branchName() {
		l.ref, l.dir = v, true
	}
}

// branchName says whether the mnemonic is that of a branch or call.
func (l *objLine) branchName() bool {
	return strings.HasPrefix(l.mn, "j") || strings.HasPrefix(l.mn, "call") || strings.HasPrefix(l.mn, "loop") || l.mn == "xbegin"
}

// flow returns the Flow that the text stands for.
func (l *objLine) flow() Flow {
	m, ind := l.mn, strings.Contains(l.text, "*")
	switch {
	case m == "ljmp", m == "lcall", m == "lret", m == "int3", m == "int1", m == "hlt", m == "sysret", m == "sysexit", m == "rsm", m == "uiret",
		strings.HasPrefix(m, "sysret"), strings.HasPrefix(m, "sysexit"), strings.HasPrefix(m, "iret"), strings.HasPrefix(m, "lret"),
		strings.HasPrefix(m, "ljmp"), strings.HasPrefix(m, "lcall"), m == "ud0", m == "ud1", m == "ud2":
		return FlowStop
	case m == "syscall", m == "sysenter", m == "int":
		return FlowSyscall
	case strings.HasPrefix(m, "call"):
		if ind {
			return FlowCallInd
		}
		return FlowCall
	case strings.HasPrefix(m, "jmp"):
		if ind {
			return FlowJumpInd
		}
		return FlowJump
	case m == "jrcxz", m == "jecxz", strings.HasPrefix(m, "loop"), m == "xbegin":
		return FlowLoop
	case strings.HasPrefix(m, "j"):
		return FlowCond
	case strings.HasPrefix(m, "ret"):
		return FlowRet
	}
	return FlowNext
}

// A section is one executable section of an ELF file.
type section struct {
	name string
	addr uint64
	data []byte
}

// textSections returns the executable sections of a file.
func textSections(t testing.TB, path string) (out []section) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_EXECINSTR == 0 || s.Type != elf.SHT_PROGBITS {
			continue
		}
		data, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, section{s.Name, s.Addr, data})
	}
	return out
}

// disassemble runs objdump over raw code that lies at address base.
func disassemble(t testing.TB, code []byte, base uint64) (out []objLine) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "code.bin")
	if err := os.WriteFile(path, code, 0o600); err != nil {
		t.Fatal(err)
	}
	objdump(t, func(l objLine) { out = append(out, l) }, "-D", "-b", "binary", "-mi386:x86-64", fmt.Sprintf("--adjust-vma=%#x", base), path)
	return out
}

// unhex turns "48 89 e5" into bytes.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
