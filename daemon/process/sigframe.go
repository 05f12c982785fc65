package process

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// The frame that rt_sigreturn takes a thread's whole state from (struct rt_sigframe of the kernel, x86-64):
// return address, ucontext{flags, link, stack, sigcontext, mask}, siginfo; the vector state stands apart.
const (
	frameReturn   = 0
	frameContext  = 8
	frameStack    = frameContext + 16
	frameRegs     = frameContext + 40
	frameSegments = frameRegs + 18*8
	frameFpstate  = frameRegs + 184
	frameMask     = frameContext + 296
	frameLength   = frameContext + 304 + 128

	contextXstate   = 1 // UC_FP_XSTATE
	contextSS       = 2 // UC_SIGCONTEXT_SS
	contextStrictSS = 4 // UC_STRICT_RESTORE_SS

	// An alternate stack that the kernel refuses without complaint: so the thread keeps the one it has, which ptrace cannot show.
	invalidStackFlags = 4
)

// A callFrame is a piece of dead stack on which a thread can make one system call and come back all by itself.
type callFrame struct {
	sp   Addr   // for the call: here stands the address of rt_sigreturn's gadget
	data []byte // to be written at sp
}

// buildFrame lays the frame out so that it ends below top. regs is the state to come back to.
func buildFrame(top Addr, regs *unix.PtraceRegs, mask uint64, xsave []byte, sigreturn Addr) callFrame {
	fp := (top - Addr(len(xsave))) &^ 63
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
func isCallFrame(data []byte, sigreturn Addr) bool {
	return Addr(le64(data[frameReturn:])) == sigreturn && uint32(le64(data[frameStack+8:])) == invalidStackFlags
}
