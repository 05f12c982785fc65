// Package x86 decodes, encodes and relocates x86-64 machine code. It is made of pure functions on bytes and knows neither
// processes nor files. What it does not know it refuses: an error, never a guess.
//
// It imports the standard library only. All functions may be called from any goroutine;
// an Asm belongs to the goroutine that made it.
//
// Where the facts come from: Intel SDM volume 2 (opcode maps in appendix A, 4.x for groups), AMD APM volumes 3, 4 and 6
// (XOP, FMA4, SSE4a). The tests compare the tables with GNU objdump, opcode by opcode and over whole libraries.
package x86

// MaxLen is the length in bytes that no instruction exceeds; the processor faults on a longer one.
const MaxLen = 15

// A Flow says what an instruction does to the flow of control.
type Flow uint8

// The flows.
const (
	FlowNext    Flow = iota // goes on with the next instruction
	FlowJump                // jmp rel8/rel32
	FlowCond                // jcc rel8/rel32
	FlowLoop                // jrcxz, jecxz, loop, loope, loopne (rel8 only), xbegin (rel32)
	FlowCall                // call rel32
	FlowJumpInd             // jmp through register or memory (notrack allowed)
	FlowCallInd             // call through register or memory
	FlowRet                 // ret, rep ret, bnd ret, ret imm16
	FlowSyscall             // syscall, sysenter, int n
	FlowStop                // ud0/1/2, hlt, int3, far transfers, iret: control does not go on in a way we follow
)

var flowNames = [...]string{"next", "jump", "cond", "loop", "call", "jump-ind", "call-ind", "ret", "syscall", "stop"}

// String returns a short name, for messages.
func (f Flow) String() string {
	if int(f) < len(flowNames) {
		return flowNames[f]
	}
	return "flow?"
}

// A Prefix is a set of the prefixes that an instruction carries.
type Prefix uint16

// The prefixes. RexW is also set by the W bit of VEX, EVEX and XOP.
const (
	PrefixOpSize   Prefix = 1 << iota // 66
	PrefixAddrSize                    // 67
	PrefixLock                        // F0
	PrefixRepne                       // F2
	PrefixRep                         // F3
	PrefixSegFS                       // 64
	PrefixSegGS                       // 65
	PrefixSegOther                    // 26, 2E, 36, 3E: branch hints, notrack, otherwise ignored in 64-bit mode
	PrefixRex                         // 40..4F, directly before the opcode
	PrefixRexW                        // the W bit
	PrefixRexB                        // the B bit (legacy encodings only)
)

// An Inst is one decoded instruction; offsets are in bytes from its first byte. Insts are comparable with ==.
type Inst struct {
	Addr      uint64 // address of the first byte
	Len       int    // 1..15
	Flow      Flow   // what it does to control
	Target    uint64 // for direct branches
	RelOff    int    // offset of the branch displacement, 0 if none
	RelLen    int    // 1 or 4
	RIPOff    int    // offset of the disp32 of a RIP-relative memory operand, 0 if none
	RIPTarget uint64 // the address that the RIP-relative operand names
	Opcode    uint16 // opcode byte; map in the high byte: 0 legacy, 1 0F, 2 0F38, 3 0F3A, 0x10|map VEX, 0x20|map EVEX, 0x40|map XOP
	OpOff     int    // offset of the opcode byte that Opcode names (behind 0F, 0F38, VEX..)
	Prefix    Prefix // the prefixes
	ModRM     byte   // the ModRM byte if HasModRM
	HasModRM  bool   // whether there is a ModRM byte
	// Nop is set for 90 with any size prefix and for 0F 1F, the two that compilers and assemblers pad with.
	// pause (F3 90), endbr64 and the reserved hint nops are not among them.
	Nop         bool
	Endbr       bool // endbr64
	PCSensitive bool // reads its own address other than by a RIP-relative operand (call to the next instruction, xbegin, eip-relative), 66-prefixed branch
}

// End returns the address of the byte behind the instruction.
func (in Inst) End() uint64 { return in.Addr + uint64(in.Len) }

// Direct says whether the instruction is a branch or call whose Target is known.
func (in Inst) Direct() bool { return in.RelLen != 0 }

// TargetsInside says whether the instruction is a direct branch into [lo, hi). A window that is to be relocated must not hold one.
func (in Inst) TargetsInside(lo, hi uint64) bool {
	return in.Direct() && lo <= in.Target && in.Target < hi
}
