package x86

import (
	"encoding/binary"
	"fmt"
)

// A Label is a place in the code of an Asm, bound or still to be bound.
type Label int

// An Asm assembles code for a known address. The zero Asm is ready for Init. Every method appends one instruction; the first
// fault (a jump out of reach, an unbound label) is kept and returned by Finish. Instructions never change their length once
// emitted, so that Len is the offset of the next one for good.
type Asm struct {
	base   uint64
	buf    []byte
	labels []int // offset of each label, -1 while unbound
	fixups []fixup
	err    error
}

// A fixup is a displacement that waits for its label.
type fixup struct {
	at, size int // offset and length of the displacement; the instruction ends with it
	label    Label
}

// Init empties the assembler and sets the address that the first byte will have.
func (a *Asm) Init(addr uint64) {
	*a = Asm{base: addr, buf: make([]byte, 0, usualCode), labels: make([]int, 0, 16), fixups: make([]fixup, 0, 16)}
}

// Reset is Init that keeps the memory: the code that was made before is overwritten.
func (a *Asm) Reset(addr uint64) {
	*a = Asm{base: addr, buf: a.buf[:0], labels: a.labels[:0], fixups: a.fixups[:0]}
}

// usualCode is how many bytes most pieces of code fit in.
const usualCode = 256

// Len returns the number of bytes emitted so far.
func (a *Asm) Len() int { return len(a.buf) }

// Addr returns the address of the next instruction.
func (a *Asm) Addr() uint64 { return a.base + uint64(len(a.buf)) }

// Bytes returns the code; it is complete after Finish and belongs to the Asm.
func (a *Asm) Bytes() []byte { return a.buf }

// Raw appends bytes as they are.
func (a *Asm) Raw(b ...byte) { a.buf = append(a.buf, b...) }

// Patch overwrites bytes that were emitted at offset at.
func (a *Asm) Patch(at int, b ...byte) {
	if at < 0 || at+len(b) > len(a.buf) {
		panic("BUG: Patch outside the code")
	}
	copy(a.buf[at:], b)
}

// NewLabel returns a label that is to be bound.
func (a *Asm) NewLabel() Label {
	a.labels = append(a.labels, -1)
	return Label(len(a.labels) - 1)
}

// Bind puts the label here. A label is bound once.
func (a *Asm) Bind(l Label) {
	if a.labels[l] >= 0 {
		panic("BUG: label bound twice")
	}
	a.labels[l] = len(a.buf)
}

// LabelAddr returns the address of a bound label.
func (a *Asm) LabelAddr(l Label) uint64 {
	if a.labels[l] < 0 {
		panic("BUG: address of an unbound label")
	}
	return a.base + uint64(a.labels[l])
}

// Finish fills in the labels and returns the first fault: a *RangeError, or what is wrong with the use of the assembler.
func (a *Asm) Finish() error {
	for _, f := range a.fixups {
		a.fix(f)
	}
	a.fixups = nil
	return a.err
}

// fix fills in one displacement.
func (a *Asm) fix(f fixup) {
	at := a.labels[f.label]
	if at < 0 {
		a.fail(fmt.Errorf("x86: label %d is used at offset %d but not bound", f.label, f.at))
		return
	}
	d := at - (f.at + f.size)
	switch {
	case f.size == 4:
		binary.LittleEndian.PutUint32(a.buf[f.at:], uint32(int32(d)))
	case d != int(int8(d)):
		a.fail(fmt.Errorf("x86: the short jump at offset %d does not reach over %d bytes: use the near form", f.at-1, d))
	default:
		a.buf[f.at] = byte(d)
	}
}

// fail keeps the first fault.
func (a *Asm) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

// imm32 appends a 32-bit number.
func (a *Asm) imm32(v uint32) { a.buf = binary.LittleEndian.AppendUint32(a.buf, v) }

// imm64 appends a 64-bit number.
func (a *Asm) imm64(v uint64) { a.buf = binary.LittleEndian.AppendUint64(a.buf, v) }

// refLabel appends a displacement of size bytes to a label.
func (a *Asm) refLabel(l Label, size int) {
	a.fixups = append(a.fixups, fixup{len(a.buf), size, l})
	a.Raw(make([]byte, size)...)
}

// refAddr appends a disp32 to an absolute address; the instruction ends with it.
func (a *Asm) refAddr(addr uint64) {
	d, err := rel32(a.Addr()+4, addr)
	if err != nil {
		a.fail(err)
	}
	a.imm32(d)
}

// shortReach says whether a jump of two bytes from here reaches a label that is bound already.
func (a *Asm) shortReach(l Label) bool {
	at := a.labels[l]
	return at < 0 || at-(len(a.buf)+2) >= -128
}
