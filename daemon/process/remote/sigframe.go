package remote

import (
	"encoding/binary"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// A callFrame is a piece of dead stack on which a thread can make one system call and come back all by itself.
type callFrame struct {
	sp   raw.Addr // for the call: here stands the address of rt_sigreturn's gadget
	data []byte   // to be written at sp
}

// buildFrame lays the frame out so that it ends below top. regs is the state to come back to.
func buildFrame(top raw.Addr, regs *unix.PtraceRegs, mask uint64, xsave []byte, sigreturn raw.Addr) callFrame {
	fp := (top - raw.Addr(len(xsave))) &^ 63
	sp := (fp-frameLength)&^15 - 8
	data := make([]byte, uint64(fp-sp)+uint64(len(xsave)))
	put := func(off int, v uint64) { binary.LittleEndian.PutUint64(data[off:], v) }
	flags := uint64(contextSS | contextStrictSS)
	if len(xsave) > xsaveLegacy {
		flags |= contextXstate
	}
	put(frameReturn, uint64(sigreturn))
	put(frameContext, flags)
	put(frameStack+8, invalidStackFlags)
	for i, v := range []uint64{regs.R8, regs.R9, regs.R10, regs.R11, regs.R12, regs.R13, regs.R14, regs.R15, regs.Rdi, regs.Rsi, regs.Rbp,
		regs.Rbx, regs.Rdx, regs.Rax, regs.Rcx, regs.Rsp, regs.Rip, regs.Eflags} {
		put(frameRegs+8*i, v)
	}
	put(frameSegments, regs.Cs&0xffff|(regs.Ss&0xffff)<<48) // cs, gs, fs, ss; gs and fs are not taken from here
	put(frameFpstate, uint64(fp))
	put(frameMask, mask)
	copy(data[fp-sp:], xsave)
	return callFrame{sp: sp, data: data}
}

// isCallFrame tells a frame of ours from one that the kernel made for a handler, whose last call may be in a tail call: no other has these flags.
func isCallFrame(data []byte, sigreturn raw.Addr) bool {
	return raw.Addr(raw.Uint64(data[frameReturn:])) == sigreturn && uint32(raw.Uint64(data[frameStack+8:])) == invalidStackFlags
}
