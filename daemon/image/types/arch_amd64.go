package types

// Registers in which arguments are passed (System V ABI, AMD64 supplement, 3.2.3).
const (
	argRegisters = 6 // general ones
	sseRegisters = 8 // xmm0 to xmm7
)

// firstXMM is DWARF's number of xmm0.
const firstXMM = 17

// argRegister is the number of an argument by DWARF's number of the register: rdi, rsi, rdx, rcx, r8, r9.
var argRegister = map[int64]int{5: 0, 4: 1, 1: 2, 2: 3, 8: 4, 9: 5}
