package x86

import (
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"culprit/internal/testprog"
)

// Where testdata/twins.c puts things, and how its memory is laid out.
const (
	twinPage  = 0x1000_0000 // of the original
	twinOrig  = twinPage + 1024
	twinCopy  = 0x2345_6000 + 1024
	twinSlots = 64
	codeRoom  = 32 // bytes for the original, and as many for the copy

	slotFlags  = 16 * 8
	slotCode   = 17 * 8
	slotXState = 512
	slotData   = 4096
	slotResult = slotData + dataSize // two of resultSize
	resultSize = 4096 + dataSize
	slotSize   = slotResult + 2*resultSize

	memfdCreate = 319
)

// Words of a result, behind the 16 registers.
const (
	wordFlags = 16 + iota
	wordRIP
	wordSignal
	wordCode
	wordAddress
	wordSelectors
	wordFS
	wordGS
	resultWords
)

// Twins is a process that executes pairs of instructions from the same state, a batch of cases at once.
type twins struct {
	t        testing.TB
	mem      []byte
	in       io.Writer
	out      *os.File
	features uint64 // parts of the extended state that the kernel keeps
	size     int    // of the extended state
	parts    [8][2]int
	boot     []byte // an extended state to begin with
}

// newTwins starts the process; it is killed when the test ends.
func newTwins(t testing.TB) *twins {
	t.Helper()
	bin := testprog.Build(t, "trampoline/x86/testdata/twins.c", "-fno-stack-protector")
	w := &twins{t: t}
	mem := w.share()
	defer mem.Close()
	toChild, in := pipe(t)
	out, fromChild := pipe(t)
	cmd := exec.Command(bin)
	cmd.Stdin, cmd.Stdout, cmd.ExtraFiles = toChild, fromChild, []*os.File{mem}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	toChild.Close()
	fromChild.Close()
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		in.Close()
		out.Close()
		syscall.Munmap(w.mem)
	})
	w.in, w.out = in, out
	w.hello()
	return w
}

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// share makes the memory that both map.
func (w *twins) share() *os.File {
	name := []byte("twins\x00")
	fd, _, e := syscall.Syscall(memfdCreate, uintptr(unsafe.Pointer(&name[0])), 1, 0) // 1: close on exec
	if e != 0 {
		w.t.Fatalf("memory: %v", e)
	}
	f := os.NewFile(fd, "twins")
	if err := f.Truncate(twinSlots * slotSize); err != nil {
		w.t.Fatal(err)
	}
	mem, err := syscall.Mmap(int(fd), 0, twinSlots*slotSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		w.t.Fatal(err)
	}
	w.mem = mem
	return f
}

// hello reads what the process says of the extended state.
func (w *twins) hello() {
	var words [18]uint64
	w.read(words[:])
	w.features, w.size = words[0], int(words[1])
	if w.size < 512+64 || w.size > slotData-slotXState {
		w.t.Fatalf("the extended state has %d bytes", w.size)
	}
	for i := range w.parts {
		if off, n := int(words[2+i]), int(words[10+i]); w.features>>i&1 == 1 && off+n <= w.size {
			w.parts[i] = [2]int{off, n}
		}
	}
	w.boot = append(w.boot, w.slot(0).result(0).xstate(w.size)...)
}

// has says whether the processor, and the kernel for it, has the registers that the instructions of an opcode map work on.
func (w *twins) has(m byte) bool {
	const avx, avx512 = 1 << 2, 7 << 5
	switch {
	case m&mapEVEX != 0:
		return w.features&avx512 == avx512
	case m&mapVEX != 0:
		return w.features&avx != 0
	}
	return m&mapXOP == 0
}

// read reads words that must come within a minute: code that runs in circles must not hold the test.
func (w *twins) read(words []uint64) {
	w.out.SetReadDeadline(time.Now().Add(time.Minute))
	if err := binary.Read(w.out, binary.LittleEndian, words); err != nil {
		w.t.Fatalf("the process that executes instructions: %v", err)
	}
}

// run executes the first n slots, original and copy.
func (w *twins) run(n int) {
	if err := binary.Write(w.in, binary.LittleEndian, uint64(n)); err != nil {
		w.t.Fatalf("the process that executes instructions has ended: %v", err)
	}
	w.read(make([]uint64, 1))
}

// A slot holds one case: the state to begin with, the two codes and the two results.
type slot []byte

func (w *twins) slot(i int) slot { return w.mem[i*slotSize:][:slotSize] }

func (s slot) setReg(n int, v uint64) { binary.LittleEndian.PutUint64(s[8*n:], v) }
func (s slot) setFlags(v uint64)      { binary.LittleEndian.PutUint64(s[slotFlags:], v) }
func (s slot) xstate(n int) []byte    { return s[slotXState:][:n] }
func (s slot) data() []byte           { return s[slotData:][:dataSize] }
func (s slot) result(twin int) result { return result(s[slotResult+twin*resultSize:][:resultSize]) }

// setCode puts the original (0) or the copy (1) in, with int3 behind it.
func (s slot) setCode(twin int, code []byte) {
	room := s[slotCode+twin*codeRoom:][:codeRoom]
	for i := range room {
		room[i] = 0xCC
	}
	copy(room, code)
}

// A result is everything that an instruction can have changed.
type result []byte

func (r result) word(n int) uint64      { return binary.LittleEndian.Uint64(r[8*n:]) }
func (r result) signal() syscall.Signal { return syscall.Signal(r.word(wordSignal)) }
func (r result) xstate(n int) []byte    { return r[512:][:n] }
func (r result) data() []byte           { return r[4096:] }

// place is where control was when the signal came: where the int3 stood, if it was one.
func (r result) place() uint64 {
	if r.signal() == syscall.SIGTRAP {
		return r.word(wordRIP) - 1
	}
	return r.word(wordRIP)
}

// clearVolatile clears what the processor fills in as it likes: the address of the last x87 instruction and operand, and the
// header that says which parts are in use.
func clearVolatile(x []byte) {
	clear(x[6:24])
	clear(x[464:576])
	binary.LittleEndian.PutUint32(x[28:], 0) // MXCSR_MASK
}
