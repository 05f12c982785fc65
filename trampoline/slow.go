package trampoline

import (
	"encoding/binary"
	"fmt"

	"culprit/trampoline/x86"
)

// slowDataOff is where in the stub the address of the first thread block stands: trampolines add it from there, by a form that is
// shorter than the number itself.
const slowDataOff = 8

// SlowRowsOff is where in the stub the word stands that says where the target maps the table of rows; 0 = nowhere. It may be written
// at any time.
const SlowRowsOff = 16

// SlotProbes is how many slots are looked at for a block, before the overflow block is taken, and for a row.
const SlotProbes = 64

// SlowStub makes the stub of an island that finds or claims a thread block. It is entered with the first slot's block in rcx
// and the address to go on at in rax, and keeps every other register.
func SlowStub(env *Env, addr uint64) ([]byte, error) {
	var a x86.Asm
	a.Init(addr)
	start := a.NewLabel()
	a.Jmp(start)
	a.Nop(slowDataOff - a.Len())
	a.Raw(binary.LittleEndian.AppendUint64(nil, env.DataAddr)...)
	rows := a.NewLabel()
	a.Bind(rows)
	a.Raw(make([]byte, 8)...)
	a.Bind(start)
	probe, next, wrapped, claimed, done := a.NewLabel(), a.NewLabel(), a.NewLabel(), a.NewLabel(), a.NewLabel()
	a.Push(x86.RDX)
	a.Push(x86.RSI)
	a.Push(x86.RDI)
	a.MovFS(x86.RSI, 0)
	a.MovImm32(x86.RDI, SlotProbes)
	a.Bind(probe)
	a.MovRM(x86.RDX, x86.RCX, 0)
	a.CmpRR(x86.RDX, x86.RSI)
	a.JccNear(x86.CondE, done)
	a.TestRR(x86.RDX, x86.RDX)
	a.Jcc(x86.CondNE, next)
	a.MovRR(x86.RDX, x86.RAX) // not pushed: no word on a stack may look like an address in an island
	a.XorRR(x86.RAX, x86.RAX)
	a.LockCmpxchgMR(x86.RCX, 0, x86.RSI)
	a.MovRR(x86.RAX, x86.RDX)
	a.Jcc(x86.CondE, claimed)
	a.Bind(next)
	a.Lea(x86.RCX, x86.RCX, int32(env.BlockSize))
	a.MovImm64(x86.RDX, env.DataAddr+uint64(env.Slots*env.BlockSize))
	a.CmpRR(x86.RCX, x86.RDX)
	a.Jcc(x86.CondB, wrapped)
	a.MovImm64(x86.RCX, env.DataAddr)
	a.Bind(wrapped)
	a.SubRI(x86.RDI, 1)
	a.Jcc(x86.CondNE, probe)
	a.MovImm64(x86.RCX, env.DataAddr+uint64(env.Slots*env.BlockSize))
	a.Bind(claimed)
	a.MovRR(x86.RDX, x86.RCX)
	a.MovImm64(x86.RSI, env.DataAddr)
	a.SubRR(x86.RDX, x86.RSI)
	a.ShrRI(x86.RDX, log2(env.BlockSize))
	a.MovImm64(x86.RSI, env.ClaimsAddr)
	a.AddRR(x86.RDX, x86.RSI)
	a.MovImm32(x86.RSI, 1)
	a.MovMR8(x86.RDX, 0, x86.RSI)
	findRow(&a, env, rows)
	a.MovMR(x86.RCX, BlockRow, x86.RDX)
	a.Bind(done)
	a.Pop(x86.RDI)
	a.Pop(x86.RSI)
	a.Pop(x86.RDX)
	a.JmpReg(x86.RAX)
	if err := a.Finish(); err != nil {
		return nil, fmt.Errorf("slow stub: %w", err)
	}
	return a.Bytes(), nil
}
