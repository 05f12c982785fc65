package remote

// Pieces of code that every libc and runtime holds somewhere, so that a system call can be made without writing any text.
var (
	gadgetSyscall   = []byte{0x0f, 0x05, 0xc3}                            // syscall; ret
	gadgetReturn    = []byte{0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05}             // mov $15,%eax; syscall (rt_sigreturn)
	gadgetReturn64  = []byte{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05} // mov $15,%rax; syscall
	gadgetMaxLength = max(len(gadgetSyscall), len(gadgetReturn), len(gadgetReturn64))
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

// Parts of an XSAVE image, in bytes but for what is a mark or a bit.
const (
	xsaveLegacy   = 512 // x87 and SSE
	xsaveHeader   = 64
	xsaveMin      = xsaveLegacy + xsaveHeader
	xsaveSoftware = 464 // bytes the processor does not use; the kernel's marks
	xsaveMagic1   = 0x46505853
	xsaveMagic2   = 0x46505845
	xsaveMagic2Sz = 4
	xtileData     = 1 << 18 // 8 KiB of AMX tiles, which a process must ask for
	maxXsave      = 16 << 10
)

// cpuid runs the instruction of the same name (leaf in eax, sub-leaf in ecx).
func cpuid(leaf, sub uint32) (eax, ebx, ecx, edx uint32)
