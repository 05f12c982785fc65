package stack

import (
	"culprit/daemon/image/unwind"
	"culprit/daemon/process"
)

// RegsOf are the registers of a stopped thread.
func RegsOf(s *process.Stopped) unwind.Regs {
	r := &s.Regs
	return unwind.Regs{RAX: r.Rax, RBX: r.Rbx, RCX: r.Rcx, RDX: r.Rdx, RSI: r.Rsi, RDI: r.Rdi, RBP: r.Rbp, RSP: r.Rsp,
		R8: r.R8, R9: r.R9, R10: r.R10, R11: r.R11, R12: r.R12, R13: r.R13, R14: r.R14, R15: r.R15, RIP: r.Rip, Exact: true}
}
