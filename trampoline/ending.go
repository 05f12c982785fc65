package trampoline

import "culprit/trampoline/x86"

// An Ending says which activations end at a point.
type Ending uint8

// The endings. All but the first are of points at the entries of functions that are called while a thread goes to a caller further up, or
// ends: the activations in between do not return. A flag and a timer know by the stack pointer that they hold which activation is theirs.
const (
	ByReturn Ending = iota // the one that returns at the point
	ByCaller               // all that lie below the frame of the function that calls here
	ByUnwind               // those between here and the frame whose stack pointer is at Mini.FrameAt behind the first argument
	ByJump                 // those between here and the frame to which glibc's longjmp goes back: its first argument is the buffer
)

// unlessEnded leaves for skip unless the activation that holds the word at the cell ends at the point: of a timer that is TimerActive.
func (g *generator) unlessEnded(m *Mini, skip x86.Label) {
	switch m.Ending {
	case ByReturn:
		g.stackPointer(x86.RAX)
		g.CmpMR(x86.RCX, m.Cell, x86.RAX)
		g.jump(x86.CondNE, skip)
	case ByCaller:
		g.stackPointer(x86.RAX)
		g.MovRM(x86.RDX, x86.RCX, m.Cell)
		g.SubRI(x86.RDX, 1) // 0, not held, is above all stacks then
		g.CmpRR(x86.RDX, x86.RAX)
		g.jump(x86.CondAE, skip)
	default:
		g.between(m, skip)
	}
}

// sameStack is how far above the stack pointer a frame may be so that it is taken to lie on the same stack. It is less than the stack of a
// thread has, so that one that a program has made for a coroutine beside it is another one.
const sameStack = 4 << 20

// between leaves for skip unless the activation lies above the stack pointer and below that of the frame that goes on, where its return
// address would be. To a frame on another stack, below or far above, a coroutine goes and comes back: no activation is left.
func (g *generator) between(m *Mini, skip x86.Label) {
	if m.Ending == ByJump {
		g.jumpTarget()
	} else {
		g.original(x86.RDI)
		g.MovRM(x86.RAX, x86.RAX, m.FrameAt)
	}
	g.stackPointer(x86.RDX)
	g.SubRR(x86.RAX, x86.RDX)
	g.CmpRI(x86.RAX, sameStack)
	g.jump(x86.CondA, skip)
	g.NegR(x86.RDX)
	g.AddRM(x86.RDX, x86.RCX, m.Cell) // of 0, not held, nearly all of the address space
	g.CmpRR(x86.RDX, x86.RAX)
	g.jump(x86.CondAE, skip)
}

// Where glibc's jmp_buf has the stack pointer, how far it is rotated there, and where the thread's block has what it is mangled with.
const (
	jumpBufferSP  = 48
	mangleRotates = 17
	pointerGuard  = 0x30
)

// jumpTarget loads into rax what the stack pointer is behind the longjmp at whose entry the point is.
func (g *generator) jumpTarget() {
	g.original(x86.RDI)
	g.MovRM(x86.RAX, x86.RAX, jumpBufferSP)
	g.RorRI(x86.RAX, mangleRotates)
	g.XorFS(x86.RAX, pointerGuard)
}
