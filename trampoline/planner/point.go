package planner

import (
	"fmt"

	"culprit/trampoline/x86"
)

// A PointKind says what kind of place in a function a point is.
type PointKind uint8

// The kinds of points.
const (
	FuncEntry PointKind = iota // before the first instruction (behind endbr64)
	Ret                        // before a ret
	TailJump                   // before a jmp to another function
	TailCond                   // when a jcc to another function is taken
	TailInd                    // before an indirect jmp to another function
	CallPre                    // before a call
	CallPost                   // behind a call, where it returns to
	Before                     // before any instruction
	Behind                     // behind any instruction, when control goes on with the one that follows it
	Taken                      // when a direct jump or conditional jump is taken
)

var pointNames = [...]string{"entry", "return", "tail jump", "conditional tail jump", "indirect tail jump", "call", "behind call", "instruction", "behind instruction", "branch taken"}

// String is the name in messages.
func (k PointKind) String() string { return pointNames[k] }

// IsExit reports whether the function's activation ends at the point.
func (k PointKind) IsExit() bool { return k >= Ret && k <= TailInd }

// Anywhere reports whether code at the point has to keep what is free at the doors of functions and at calls: the flags, and
// what lies below the stack pointer.
func (k PointKind) Anywhere() bool { return k >= Before }

// A Point is a place in the code of a function where instrumentation may go. Addr is the address of the instruction that
// the probe runs before (Behind: behind, Taken: instead of going where it leads at once); for CallPost it is where the call
// returns to.
type Point struct {
	Kind PointKind
	Addr uint64
}

// A Body is the code of one function as the planner needs it. Addresses are those of the running target.
type Body struct {
	Insts  []x86.Inst                      // in order of address; a cold part is a run of its own
	Bytes  func(addr uint64, n int) []byte // n bytes of code at addr
	Target func(addr uint64) bool          // whether anything may jump to addr
	PadEnd func(addr uint64) uint64        // end of the unused padding that starts at addr; addr itself if there is none
	Pads   func(near uint64) []Pad         // unused padding of 5 bytes within a short jump of near; what it returns is reserved
	// Elsewhere gives the first instructions at an address of another function, and their bytes; nil = not known.
	Elsewhere func(addr uint64) ([]x86.Inst, []byte)
	Stay      x86.Fault                  // such as may fault in this way stay where they are: a handler may go by the address
	Bound     func(lo, hi uint64) string // why one of these bytes must stay what and where it is; "" = none must; nil = none ever
	Hidden    string                     // why windows of several instructions are unsafe here ("" = they are safe)
	Go        bool                       // made by Go's compiler: there is no red zone, and when its stack grows a function begins again
}

// A Pad is a run of padding bytes between functions.
type Pad struct {
	Addr uint64
	Len  int
}

// A Refusal says why a point cannot be instrumented.
type Refusal struct {
	Point  Point
	Reason string
}

// Error is the reason with the place.
func (r *Refusal) Error() string {
	return fmt.Sprintf("%s at %#x: %s", r.Point.Kind, r.Point.Addr, r.Reason)
}
