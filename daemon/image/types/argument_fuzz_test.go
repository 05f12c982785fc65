package types

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"strings"
	"testing"
	"time"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// askArguments asks for every argument of the first functions of an object, and for fields of what they lead to.
func askArguments(o *object) (asked int) {
	for i, f := range o.functions {
		if i == 64 {
			break
		}
		s, err := o.signature(f)
		if err != nil {
			continue
		}
		for i := range s.args {
			for _, fields := range [][]ArgField{nil, {{"peer", true}}, {{"u", true}, {"i", false}}, {{"next", true}, {"self", true}, {"tag", false}}} {
				p := ArgPath{Name: s.args[i].name, Index: i, Fields: fields}
				o.Argument(f, p)
				p.Name, p.Text = "", true
				o.Argument(f, p)
				asked += 2
			}
		}
	}
	return asked
}

// FuzzArguments overwrites 8 bytes of the DWARF of a real program, and asks for its arguments. No answer may take long.
func FuzzArguments(f *testing.F) {
	path := compileTo(f, argumentsC, []string{"gcc", "-O1", "-gdwarf-5", "-gz=none"})
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	type part struct{ off, size uint64 }
	var parts []part
	headers, err := elf.NewFile(bytes.NewReader(whole))
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range headers.Sections {
		if strings.HasPrefix(s.Name, ".debug_") {
			parts = append(parts, part{s.Offset, s.Size})
			for k := range uint64(8) {
				f.Add(uint8(len(parts)-1), uint32(k*s.Size/8), uint64(0x8000000080ff00ff)>>k)
				f.Add(uint8(len(parts)-1), uint32(k), ^uint64(0))
			}
		}
	}
	f.Add(uint8(0), uint32(0), uint64(0))
	f.Fuzz(func(t *testing.T, section uint8, at uint32, val uint64) {
		b := append(bytes.Clone(whole), make([]byte, 8)...)
		p := parts[int(section)%len(parts)]
		if val != 0 {
			binary.LittleEndian.PutUint64(b[p.off+uint64(at)%p.size:], val)
		}
		begun := time.Now()
		o, err := newObject(bytes.NewReader(b), int64(len(b)), "fuzz")
		if err != nil {
			return
		}
		if n := askArguments(o); n == 0 && val == 0 {
			t.Fatal("nothing was asked of the program as it is")
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Fatalf("that took %v", took)
		}
	})
}

// TestArgumentsOfLibrary holds the places of all arguments of libc by the ABI against those that its DWARF gives, which Debian has
// made smaller with dwz.
func TestArgumentsOfLibrary(t *testing.T) {
	o := openObject(t, testprog.LibcPath)
	if o.file.DebugFile() == nil {
		require.Skip(t, "needs libc6-dbg")
	}
	var functions, params, told, refused int
	var longest time.Duration
	for _, f := range o.functions {
		begun := time.Now()
		s, err := o.signature(f)
		longest = max(longest, time.Since(begun))
		if err != nil {
			continue
		}
		functions++
		for _, a := range s.args {
			params++
			if a.loc.kind == locRegister || a.loc.kind == locStack {
				told++
			}
			if a.refused != "" {
				refused++
			}
			if strings.Contains(a.refused, "agree") {
				t.Errorf("%s of %s: %s: DWARF %+v, by the ABI %+v", a.name, f.Name, a.refused, a.loc, a.passing)
			}
		}
	}
	t.Logf("%d of %d functions are described, with %d parameters; DWARF tells the place of %d, %d cannot be read; the longest question took %v",
		functions, len(o.functions), params, told, refused, longest)
	if functions < 3000 || told < params/2 || refused > params/20 {
		t.Error("too little is known of it")
	}
}
