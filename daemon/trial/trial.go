package trial

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"culprit/daemon/process"
	"culprit/trampoline"
	"culprit/trampoline/planner"
	"culprit/trampoline/x86"
)

// A Place is where probes go in the function of a trial.
type Place uint8

// The places.
const (
	Entry  Place = iota
	Return       // before the return
	Call         // before a call
	Called       // behind it
	Inside       // before an instruction in the middle
)

// A Case is what is tried: the mini-trampolines of each place, and words of the thread's block that are set before, by their offset:
// flags that let them run.
type Case struct {
	Minis map[Place][]trampoline.Mini
	Words map[int32]uint64
}

// Cells are the bytes of a thread's block that the mini-trampolines of a case may use: from FirstCell on, up to EndCell.
const (
	FirstCell = 64
	EndCell   = blockSize
)

// A Bench is memory in which cases are tried, one at a time.
type Bench struct {
	mu  sync.Mutex
	mem []byte
	env trampoline.Env
}

// Open makes a bench. Close gives its memory back. The error says that the system gives out no memory for code.
func Open() (*Bench, error) {
	mem, err := unix.Mmap(-1, 0, size, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("memory for trying probes: %w", err)
	}
	b := &Bench{mem: mem}
	if err = unix.Mprotect(b.mem[gateOff:], unix.PROT_READ|unix.PROT_WRITE); err == nil {
		err = b.protect(unix.PROT_WRITE)
	}
	if err != nil {
		b.Close()
		return nil, fmt.Errorf("memory for trying probes: %w", err)
	}
	at := b.addr(0)
	b.env = trampoline.Env{PID: os.Getpid(), Geometry: trampoline.Geometry{Slots: slots, BlockSize: blockSize, LedgerCap: 1, CodeSize: 1},
		DataAddr: at + dataOff, ClaimsAddr: at + claimsOff, SlowAddr: at + slowOff, GateAddr: at + gateOff, FilesAddr: at + filesOff}
	if err := b.stubs(); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// Close unmaps the memory.
func (b *Bench) Close() { unix.Munmap(b.mem) }

func (b *Bench) addr(off int) uint64 { return uint64(uintptr(unsafe.Pointer(&b.mem[0]))) + uint64(off) }

// protect lets the code be read, and written to or run.
func (b *Bench) protect(how int) error {
	err := unix.Mprotect(b.mem[:textEnd], unix.PROT_READ|how)
	if err == nil {
		err = unix.Mprotect(b.mem[slowOff:gateOff], unix.PROT_READ|how)
	}
	return err
}

func (b *Bench) stubs() error {
	slow, err := trampoline.SlowStub(&b.env, b.env.SlowAddr)
	if err != nil {
		return err
	}
	copy(b.mem[slowOff:], slow)
	binary.LittleEndian.PutUint64(b.mem[slowOff+trampoline.SlowRowsOff:], b.addr(dataOff+slots*blockSize))
	b.mem[leafOff] = 0xC3
	binary.LittleEndian.PutUint64(b.mem[gateOff:], trampoline.GateOpen)
	vectors, ok := process.VectorSize(trampoline.CallMask)
	if !ok {
		return nil
	}
	b.env.CallAddr = b.addr(callOff)
	call, _, err := trampoline.CallStub(trampoline.VectorState{Mask: trampoline.CallMask, Size: vectors}, b.env.CallAddr, b.env.GateAddr)
	copy(b.mem[callOff:], call)
	return err
}

// Cost is what all probes of a case together add to one call of the function, in ns, at least 0: the mean over the layouts.
func (b *Bench) Cost(c Case) (float64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var sum float64
	for _, l := range layouts {
		ns, err := b.costIn(c, l)
		if err != nil {
			return 0, err
		}
		sum += ns
	}
	return sum / float64(len(layouts)), nil
}

func (b *Bench) costIn(c Case, l layout) (float64, error) {
	if err := b.prepare(c, l); err != nil {
		return 0, err
	}
	if err := b.protect(unix.PROT_EXEC); err != nil {
		return 0, fmt.Errorf("trying probes: %w", err)
	}
	defer b.protect(unix.PROT_WRITE)
	return b.measure(l), nil
}

// prepare writes the function twice, once with the probes.
func (b *Bench) prepare(c Case, l layout) error {
	calls := len(c.Minis[Call])+len(c.Minis[Called]) > 0
	clear(b.mem[:leafOff])
	for _, off := range []int{probedOff, plainOff} {
		at := off + l.function
		code := function(b.addr(at), b.addr(leafOff), calls)
		copy(b.mem[at:], append(code, slices.Repeat([]byte{0x90}, padding)...))
		turns, err := loop(b.addr(off+l.loop), b.addr(at))
		if err != nil {
			return err
		}
		copy(b.mem[off+l.loop:], turns)
	}
	clear(b.mem[dataOff:filesOff])
	for slot := range slots + 1 {
		for off, v := range c.Words {
			binary.LittleEndian.PutUint64(b.mem[dataOff+slot*blockSize+int(off):], v)
		}
	}
	return b.patch(c, l, calls)
}

// patch makes the trampolines and the jumps to them.
func (b *Bench) patch(c Case, l layout, calls bool) error {
	start := b.addr(probedOff + l.function)
	code := function(start, b.addr(leafOff), calls)
	insts, err := decode(code, start)
	if err != nil {
		return err
	}
	at := points(insts)
	var wanted []planner.Point
	groups := map[planner.Point][]trampoline.Group{}
	for place, minis := range c.Minis {
		p := at[place]
		wanted = append(wanted, p)
		groups[p] = []trampoline.Group{{Owner: 1, Minis: b.own(minis)}}
	}
	plan := planner.MakePlan(body(insts, code, start), wanted)
	for _, r := range plan.Refused {
		return r
	}
	room := roomOff + l.room
	for _, s := range plan.Sites {
		if room, err = b.site(s, groups, room); err != nil {
			return err
		}
	}
	return nil
}

// site writes the trampoline of a site into the room and the jump to it; it returns where there is more room.
func (b *Bench) site(s *planner.Site, groups map[planner.Point][]trampoline.Group, room int) (int, error) {
	list := make([][]trampoline.Group, len(s.Marks))
	for i, m := range s.Marks {
		list[i] = groups[m.Point]
	}
	base, err := trampoline.Generate(&b.env, s, list, b.addr(room))
	if err != nil {
		return room, err
	}
	if room+len(base.Code) > roomEnd {
		return room, fmt.Errorf("a trampoline of %d bytes is too long to be tried", len(base.Code))
	}
	copy(b.mem[room:], base.Code)
	pieces, err := s.Patch(base.Way(b.addr(room)))
	for _, p := range pieces {
		copy(b.mem[p.Addr-b.addr(0):], p.Bytes)
	}
	return (room + len(base.Code) + 63) &^ 63, err
}

func decode(code []byte, at uint64) (insts []x86.Inst, err error) {
	for len(code) > 0 {
		in, err := x86.Decode(code, at)
		if err != nil {
			return nil, err
		}
		insts = append(insts, in)
		code, at = code[in.Len:], at+uint64(in.Len)
	}
	return insts, nil
}

func body(insts []x86.Inst, code []byte, start uint64) *planner.Body {
	end := start + uint64(len(code))
	return &planner.Body{
		Insts:  insts,
		Bytes:  func(addr uint64, n int) []byte { return code[addr-start:][:n] },
		Target: func(addr uint64) bool { return addr == start },
		PadEnd: func(addr uint64) uint64 {
			if addr == end {
				return end + padding
			}
			return addr
		},
		Pads: func(uint64) []planner.Pad { return nil },
	}
}

// own replaces the functions that are called by one of the bench.
func (b *Bench) own(minis []trampoline.Mini) []trampoline.Mini {
	out := slices.Clone(minis)
	for i := range out {
		out[i].Expr, out[i].Cond = b.redirect(out[i].Expr), b.redirect(out[i].Cond)
	}
	return out
}

func (b *Bench) redirect(e *trampoline.Expr) *trampoline.Expr {
	if e == nil {
		return nil
	}
	x := *e
	x.L, x.R, x.Args = b.redirect(e.L), b.redirect(e.R), nil
	for _, a := range e.Args {
		x.Args = append(x.Args, b.redirect(a))
	}
	if x.Op == trampoline.ExCall {
		x.Value = int64(b.addr(leafOff))
	}
	return &x
}

// How long a case is measured: rounds of both functions in turns, each as long as this and of so many calls at least.
const (
	rounds     = 10 // in each layout
	roundTime  = 20 * time.Microsecond
	fewestCall = 16
	warmUps    = 3
)

// measure takes the least of the rounds of each function: what it takes when nobody disturbs.
func (b *Bench) measure(l layout) float64 {
	runtime.LockOSThread() // blocks belong to threads
	defer runtime.UnlockOSThread()
	b.time(probedOff+l.loop, 1) // claims a block
	b.giveRow()
	n := b.fit(probedOff + l.loop)
	probed, plain := time.Hour, time.Hour
	for range rounds {
		probed = min(probed, b.time(probedOff+l.loop, n))
		plain = min(plain, b.time(plainOff+l.loop, n))
	}
	return max(0, float64(probed-plain)/float64(n))
}

// giveRow gives the blocks a row, which nobody fills: the block that is never claimed.
func (b *Bench) giveRow() {
	for slot := range slots {
		binary.LittleEndian.PutUint64(b.mem[dataOff+slot*blockSize+trampoline.BlockRow:], trampoline.RowWord(0))
	}
}

// fit finds how many calls make up a round. The first calls are slow: code, data and branches are not known yet.
func (b *Bench) fit(loop int) int {
	n := fewestCall
	for {
		least := b.time(loop, n)
		for range warmUps {
			least = min(least, b.time(loop, n))
		}
		if least >= roundTime/2 {
			return n
		}
		n *= 2
	}
}

func (b *Bench) time(loop, n int) time.Duration {
	code, word := uintptr(b.addr(loop)), uintptr(b.addr(wordOff))
	start := time.Now()
	run(code, word, n)
	return time.Since(start)
}
