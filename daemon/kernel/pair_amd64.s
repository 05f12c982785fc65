#include "textflag.h"

// func LoadPair(p *[2]uint64) (first, second uint64)
// The words are compared with a pair and replaced by the same pair: either way they stay as they are, and are read.
TEXT ·LoadPair(SB), NOSPLIT, $0-24
	MOVQ p+0(FP), DI
	XORQ AX, AX
	XORQ DX, DX
	XORQ BX, BX
	XORQ CX, CX
	LOCK
	CMPXCHG16B (DI)
	MOVQ AX, first+8(FP)
	MOVQ DX, second+16(FP)
	RET
