#include "textflag.h"

// func run(code, word uintptr, n int)
// The frame is room for what the code pushes: the area for the vector registers is the largest of it.
TEXT ·run(SB), 0, $16384-24
	MOVQ code+0(FP), AX
	MOVQ word+8(FP), DI
	MOVQ n+16(FP), SI
	CALL AX
	RET
