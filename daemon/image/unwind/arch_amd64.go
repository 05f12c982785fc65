package unwind

// DWARF register numbers of x86-64 (psABI, figure 3.36).
const (
	regRBP    = 6
	regRSP    = 7
	ripColumn = 16
)

// Regs are the registers of one frame, as addresses and values in the process (load bias included).
type Regs struct {
	RAX, RBX, RCX, RDX, RSI, RDI, RBP, RSP uint64
	R8, R9, R10, R11, R12, R13, R14, R15   uint64
	RIP                                    uint64
	// Lost has bit n set if the register with DWARF number n is not known in this frame (see psABI figure 3.36: 0 rax, 1 rdx,
	// 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp, 8-15 r8-r15). The zero value means that all are known.
	Lost uint32
	// Exact says that RIP is the next instruction to run (a thread's own registers, or a frame that a signal interrupted);
	// otherwise RIP is a return address and RIP-1 is what to look up. Unwind sets it; for a thread's own registers set it yourself.
	Exact bool
}

// LookupPC is the process address by which the frame's function, line and call frame information are found.
func (r *Regs) LookupPC() uint64 {
	if r.Exact || r.RIP == 0 {
		return r.RIP
	}
	return r.RIP - 1
}

// slot gives the register with a DWARF number of 0..16, nil for others.
func (r *Regs) slot(n uint64) *uint64 {
	all := [...]*uint64{&r.RAX, &r.RDX, &r.RCX, &r.RBX, &r.RSI, &r.RDI, &r.RBP, &r.RSP,
		&r.R8, &r.R9, &r.R10, &r.R11, &r.R12, &r.R13, &r.R14, &r.R15, &r.RIP}
	if n >= uint64(len(all)) {
		return nil
	}
	return all[n]
}

// callerSaved are the registers that a call may change: rax, rdx, rcx, rsi, rdi, r8-r11.
const callerSaved = 1<<0 | 1<<1 | 1<<2 | 1<<4 | 1<<5 | 1<<8 | 1<<9 | 1<<10 | 1<<11
