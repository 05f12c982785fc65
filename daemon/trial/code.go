package trial

import (
	"culprit/trampoline"
	"culprit/trampoline/planner"
	"culprit/trampoline/x86"
)

// run calls machine code with the address of a word and a number, on the stack of the goroutine. The code follows the C ABI and may
// use 16 KiB.
func run(code, word uintptr, n int)

// What lies where in the memory of a bench, as offsets: the function and who calls it, and far from that, as islands are from a program's
// text, trampolines and what they use.
const (
	probedOff = 0x0 // the function that gets the probes
	plainOff  = 0x400
	leafOff   = 0x800 // what it calls, and what probes call
	textEnd   = 0x1000
	slowOff   = 64 << 20
	callOff   = slowOff + 0x400
	roomOff   = slowOff + 0x1000 // trampolines
	roomEnd   = slowOff + 0x9000
	gateOff   = slowOff + 0x9000 // from here on it can be written to
	wordOff   = gateOff + 0x40   // what the function writes
	claimsOff = gateOff + 0x1000
	dataOff   = gateOff + 0x2000
	slots     = 8
	filesOff  = dataOff + (slots+1)*blockSize // the table of open files: those of a trial are unknown
	size      = filesOff + trampoline.FilesSize
	blockSize = 1 << 15
	padding   = 64 // of no-operations behind a function
)

// A layout says how code lies: what takes one nanosecond takes two where a jump ends at another place in a line of the cache or crosses
// its end, and nobody knows how it will be in a program. So each case is tried in several.
type layout struct {
	function int // offset in its place
	loop     int // from the function to the loop that calls it
	room     int // of trampolines, where they begin in a line
}

var layouts = [...]layout{{0, 0x200, 0}, {0x10, 0x20B, 0x10}, {0x20, 0x220, 0x30}, {0x30, 0x237, 0x20}}

// function is what the probes are put into: an instruction, perhaps a call, another instruction, and the return.
func function(at, leaf uint64, calls bool) []byte {
	var a x86.Asm
	a.Init(at)
	a.Raw(0x48, 0x8D, 0x44, 0x76, 0x01) // lea 1(%rsi,%rsi,2), %rax
	if calls {
		d := uint32(leaf - (a.Addr() + 5))
		a.Raw(0xE8, byte(d), byte(d>>8), byte(d>>16), byte(d>>24))
	}
	a.MovMR(x86.RDI, 0, x86.RAX)
	a.Ret()
	return a.Bytes()
}

// loop makes code that calls a function n times with a word's address and a number: as a compiler would, by a direct call.
func loop(at, function uint64) ([]byte, error) {
	var a x86.Asm
	a.Init(at)
	for _, r := range []x86.Reg{x86.RBX, x86.R12, x86.R13} {
		a.Push(r)
	}
	a.MovRR(x86.R12, x86.RDI)
	a.MovRR(x86.R13, x86.RSI)
	a.XorRR(x86.RBX, x86.RBX)
	again := a.NewLabel()
	a.Bind(again)
	a.MovRR(x86.RSI, x86.RBX)
	a.MovRR(x86.RDI, x86.R12)
	a.AddRI(x86.RBX, 1)
	d := uint32(function - (a.Addr() + 5))
	a.Raw(0xE8, byte(d), byte(d>>8), byte(d>>16), byte(d>>24))
	a.CmpRR(x86.RBX, x86.R13)
	a.Jcc(x86.CondNE, again)
	for _, r := range []x86.Reg{x86.R13, x86.R12, x86.RBX} {
		a.Pop(r)
	}
	a.Ret()
	err := a.Finish()
	return a.Bytes(), err
}

// points are where the probes of a case go in the function.
func points(insts []x86.Inst) map[Place]planner.Point {
	at := map[Place]planner.Point{}
	for i, in := range insts {
		switch {
		case i == 0:
			at[Entry] = planner.Point{Kind: planner.FuncEntry, Addr: in.Addr}
		case in.Flow == x86.FlowCall:
			at[Call] = planner.Point{Kind: planner.CallPre, Addr: in.Addr}
			at[Called] = planner.Point{Kind: planner.CallPost, Addr: in.End()}
		case in.Flow == x86.FlowRet:
			at[Return] = planner.Point{Kind: planner.Ret, Addr: in.Addr}
		case at[Inside].Addr == 0:
			at[Inside] = planner.Point{Kind: planner.Before, Addr: in.Addr}
		}
	}
	return at
}
