package x86

// What changes a number that others change as well, and two words at once.

// XchgMR swaps the word at base + disp and a register; the processor locks it without being asked.
func (a *Asm) XchgMR(base Reg, disp int32, x Reg) { a.rm(0x87, x, base, disp) }

// LockCmpxchg16bM stores rcx:rbx to the 16 bytes at base + disp if they are rdx:rax (else rdx:rax takes what is there). The address is a
// multiple of 16, or the processor faults.
func (a *Asm) LockCmpxchg16bM(base Reg, disp int32) { a.lock(); a.rm0F(0xC7, 1, base, disp) }

// BtcRI flips bit n, 0 to 63, of dst.
func (a *Asm) BtcRI(dst Reg, n uint8) {
	a.Raw(0x48|rexRB(0, dst), 0x0F, 0xBA, 0xC0|7<<3|byte(dst&7), n)
}

// NotR flips all bits of a register and changes no flags.
func (a *Asm) NotR(r Reg) { a.rr(0xF7, 2, r) }
