#include "textflag.h"

// func repeat(code, word uintptr, n int)
// The frame is room for what the code pushes: the area for the vector registers is the largest of it.
TEXT ·repeat(SB), 0, $16384-24
	MOVQ code+0(FP), R12
	MOVQ word+8(FP), R15
	MOVQ n+16(FP), R13
next:
	MOVQ R15, DI
	MOVQ R13, SI
	CALL R12
	DECQ R13
	JNZ  next
	RET
