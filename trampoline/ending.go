package trampoline

import "culprit/trampoline/x86"

// An Ending says which activations end at a point.
type Ending uint8

// The endings. The last two are of points at the entries of functions that are called while a thread goes to a caller further up: the
// activations in between do not return. A flag and a timer know by the stack pointer that they hold which activation is theirs.
const (
	ByReturn Ending = iota // the one that returns at the point
	ByCatch                // all that were called by the function that calls here: it begins to handle an exception
	ByJump                 // all that were called by the function to which glibc's longjmp, at whose entry the point is, goes back
)

// unlessEnded leaves for skip unless the activation that holds the word at the cell ends at the point: of a timer that is TimerActive.
func (g *generator) unlessEnded(m *Mini, skip x86.Label) {
	if m.Ending == ByReturn {
		g.stackPointer(x86.RAX)
		g.CmpMR(x86.RCX, m.Cell, x86.RAX)
		g.jump(x86.CondNE, skip)
		return
	}
	if m.Ending == ByJump {
		g.jumpTarget()
	} else {
		g.stackPointer(x86.RAX)
	}
	g.MovRM(x86.RDX, x86.RCX, m.Cell)
	g.SubRI(x86.RDX, 1) // 0, not held, is above all stacks then
	g.CmpRR(x86.RDX, x86.RAX)
	g.jump(x86.CondAE, skip)
}

// Where glibc's jmp_buf has the stack pointer, how far it is rotated there, and where the thread's block has what it is mangled with.
const (
	jumpBufferSP  = 48
	mangleRotates = 17
	pointerGuard  = 0x30
)

// jumpTarget loads into rax what the stack pointer is behind the longjmp at whose entry the point is: its first argument is the buffer.
// An activation that goes on has its return address above it, one that was left has it below.
func (g *generator) jumpTarget() {
	g.original(x86.RDI)
	g.MovRM(x86.RAX, x86.RAX, jumpBufferSP)
	g.RorRI(x86.RAX, mangleRotates)
	g.XorFS(x86.RAX, pointerGuard)
}
