package image

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"culprit/daemon/image/unwind"
	"culprit/internal/testprog"
)

// touch asks an object for everything.
func touch(o *Object) {
	o.BuildID()
	for i, s := range o.dataSymbols() {
		if i == 64 {
			break
		}
		p, _ := o.PartAt(s.Addr + s.Size/2)
		o.PartNamed(p.Name)
	}
	fs := o.Functions()
	for i, f := range fs {
		if i == 64 {
			break
		}
		o.FunctionAt(f.Addr)
		o.Named(f.Name)
		o.Line(f.Addr)
		o.PadEnd(f.Addr + f.Size)
		if w, err := o.Flow(f); err == nil && len(w.Insts) > 0 {
			mid := w.Insts[len(w.Insts)/2].Addr
			o.PadEnd(mid)
			o.Enclosing(f, unwind.Activation{Regs: unwind.Regs{RIP: mid, RSP: 4096, RBP: 8192, Exact: true}, CFA: 8200, Mem: func(a uint64) (uint64, error) { return a * 7, nil }}, 8208)
			_, _, _ = o.Unwind(mid, unwind.Regs{RIP: mid, RSP: 4096, RBP: 8192}, 0, func(a uint64) (uint64, error) { return a * 7, nil })
		}
	}
}

// FuzzOpen overwrites 8 bytes of a small real program (small enough that most places matter) and cuts it off.
func FuzzOpen(f *testing.F) {
	path := testprog.BuildSource(f, "#include <stdio.h>\nint g(int x){switch(x){case 0:return 5;case 1:return 3;case 2:return 9;case 3:return 1;case 4:puts(\"\");return 2;case 5:return 8;}return 0;}\nint main(int c,char**v){return g(c);}", "-O1", "-g")
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	headers, err := elf.NewFile(bytes.NewReader(whole))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), uint64(0), uint32(len(whole)))
	for i := range 64 { // the header
		f.Add(uint32(i), ^uint64(0), uint32(len(whole)))
	}
	for i, s := range headers.Sections {
		head := uint32(binary.LittleEndian.Uint64(whole[40:])) + uint32(i)*64
		for _, field := range []uint32{4, 16, 24, 32, 40} { // type, address, offset, size, link
			f.Add(head+field, ^uint64(0), uint32(len(whole)))
			f.Add(head+field, uint64(1)<<40, uint32(len(whole)))
		}
		for k := range uint32(12) {
			f.Add(uint32(s.Offset)+k*uint32(s.Size/12), uint64(0x8000000080ff00ff)>>k, uint32(len(whole)))
		}
		f.Add(uint32(0), uint64(0), uint32(s.Offset)+uint32(s.Size/2))
	}
	f.Fuzz(func(t *testing.T, at uint32, val uint64, size uint32) {
		b := append(bytes.Clone(whole), make([]byte, 8)...)
		if val != 0 {
			binary.LittleEndian.PutUint64(b[int(at)%len(whole):], val)
		}
		b = b[:int(size)%(len(whole)+1)]
		if o, err := Open(bytes.NewReader(b), int64(len(b)), "fuzz"); err == nil {
			touch(o)
		}
	})
}

// FuzzGoTable feeds arbitrary bytes to the reader of Go's function table.
func FuzzGoTable(f *testing.F) {
	f.Add(append(goHeads[3], make([]byte, 64)...), uint64(0x401000))
	f.Fuzz(func(t *testing.T, b []byte, text uint64) { goFunctions(b, text) })
}

// TestDamaged cuts and damages the libraries that are at hand, which are larger than what the fuzzer uses.
func TestDamaged(t *testing.T) {
	paths, _ := filepath.Glob("/usr/lib/x86_64-linux-gnu/libgcc_s.so.1")
	for _, p := range append(paths, "/lib64/ld-linux-x86-64.so.2") {
		whole, err := os.ReadFile(p)
		if err != nil {
			t.Logf("skipped: %v", err)
			continue
		}
		x := uint64(88172645463325252)
		for range 60 {
			b := bytes.Clone(whole)
			for range 200 {
				x ^= x << 13
				x ^= x >> 7
				x ^= x << 17
				b[64+x%uint64(len(b)-64)] = byte(x >> 56)
			}
			if o, err := Open(bytes.NewReader(b), int64(len(b)), "damaged"); err == nil {
				touch(o)
			}
		}
	}
}
