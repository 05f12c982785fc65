package arch

// Codes of branches (Intel SDM, volume 2).
const (
	Call      = 0xE8 // rel32
	Jump      = 0xE9 // rel32
	ShortJump = 0xEB // rel8
	Escape    = 0x0F // begins codes of two bytes
	Indirect  = 0xFF // begins calls and jumps through a register or memory

	// CallThroughTable follows Indirect in a call through a word at a distance from the instruction, as of the global offset table.
	CallThroughTable = 0x15
)

// IsFarCond reports whether what follows Escape is the second byte of a conditional jump with a displacement of four bytes.
func IsFarCond(second byte) bool { return second&0xF0 == 0x80 }

// IsCallOrJump reports whether a byte is Call or Jump.
func IsCallOrJump(op byte) bool { return op&^1 == Call }

// LongestCall is how many bytes before an address are enough to tell whether a call ends there.
const LongestCall = 7

// EndsInIndirectCall reports whether LongestCall bytes of code may end in a call through a register or memory.
func EndsInIndirectCall(code []byte) bool {
	for n := 2; n <= LongestCall; n++ {
		if c := code[LongestCall-n:]; c[0] == Indirect && c[1]>>3&7 == 2 {
			return true
		}
	}
	return false
}

// EndsInCall reports whether LongestCall bytes of code may end in a call: one that names its target, or one through a register or memory
// (FF /2).
func EndsInCall(code []byte) bool {
	if code[LongestCall-5] == Call {
		return true
	}
	return EndsInIndirectCall(code)
}

// Nops are instructions that do nothing, by their length.
var Nops = [4][]byte{nil, {0x90}, {0x66, 0x90}, {0x0F, 0x1F, 0x00}}
