package trampoline

// A Group is the mini-trampolines of one owner (a metric-focus pair) at one point. It is switched on and off as a whole by
// one two-byte store.
type Group struct {
	Owner uint64
	Minis []Mini
	Off   bool // generated switched off
}

// A Mini is one primitive with its predicates. Cells are offsets of words in the block of the executing thread.
type Mini struct {
	Op     Op
	Cell   int32
	Expr   *Expr   // for Add, Set, Do, GaugeAdd and GaugeSet
	Guards []Guard // all must hold
	Cond   *Expr   // and this must be non-zero, if not nil
	// Buckets is a cell of BucketsSize bytes in which what is added is counted by size as well: by an Add its expression, by
	// the end of a timer the time. 0 = none.
	Buckets int32
	// Table is a cell of TableSize bytes in which what is added is added up by the key in the word Key as well. 0 = none; not
	// together with Buckets.
	Table, Key int32
	Shared     bool   // the gauge is one of the whole process; else each thread has its own
	Ending     Ending // of a Leave: which activations end at the point
	FrameAt    int32  // of one ByUnwind, in bytes
	Row        int32  // of a timer by rows: offset of the word in the row; of one of running time, of the time off the processor
}

// An Op is a primitive that a mini-trampoline performs.
type Op uint8

// The primitives. A timer cell is three words: stack pointer of the outermost activation (0 = not running), start, sum.
const (
	Add       Op = iota // word += expression
	Set                 // word = expression
	FlagEnter           // word = stack pointer, at the outermost activation
	FlagLeave           // word = 0, when that activation returns
	WallEnter           // timers that belong to an activation
	WallLeave
	WallStart // plain timers: running or not
	WallStop
	CPUEnter // the same on the thread's CPU time: a system call each time
	CPULeave
	CPUStart
	CPUStop
	Do       // expression, for what it does
	RunEnter // timers of the time that the thread ran, by its row: see row.go
	RunLeave
	RunStart
	RunStop
	RowEnter // timers of how much a word of the thread's row grew
	RowLeave
	RowStart
	RowStop
	GaugeAdd // a gauge changes by the expression: see gauge.go
	GaugeSet // a gauge is set to the expression
)

// Words of a timer cell, as offsets from its start, and the sizes of cells.
const (
	TimerActive = 0
	TimerStart  = 8
	TimerSum    = 16
	TimerSize   = 24
	WordSize    = 8
)

// CPU reports whether the primitive reads the thread's CPU time.
func (o Op) CPU() bool { return o >= CPUEnter && o <= CPUStop }

// timer reports whether the primitive works on a timer.
func (o Op) timer() bool { return o >= WallEnter && o <= CPUStop || o.Run() || o.row() }

// A Guard is a predicate: a word that must be non-zero. For a flag of an activation (Activation) it must also be at or
// above the stack pointer: a flag whose activation was left by an exception or longjmp is stale as soon as the stack is higher.
type Guard struct {
	Cell       int32
	Activation bool
}

// An ExprOp is a leaf or an operator of an expression.
type ExprOp uint8

// Leaves and operators on 64-bit integers; comparisons are signed and give 0 or 1, And and Or are logical. Division drops the
// fraction; by 0 it gives 0.
const (
	ExConst  ExprOp = iota // Value
	ExArg                  // integer argument Value (0..5) of the function, at its entry
	ExReturn               // integer return value, at an exit
	ExCallee               // where the call at a point before a call goes
	ExWord                 // the word at cell offset Value
	ExAdd
	ExSub
	ExMul
	ExEq
	ExNe
	ExLt
	ExLe
	ExGt
	ExGe
	ExAnd
	ExOr
	ExNeg
	ExDiv
	ExAddr   // the address of the word at cell offset Value of the executing thread
	ExCall   // what the target's function at address Value returns for Args; 0 inside of such a call
	ExNarrow // L cut to Size bytes and extended again
	ExSP     // the stack pointer at the point
	ExStack  // Size bytes of the stack, Value bytes from ExSP: memory that is certainly there, read directly
	ExLoad   // Size bytes at the address L + Value; 0 where they cannot all be read
	ExMatch  // 1 if the memory at the address L + Value holds the bytes of Text; 0 also where it cannot be read
	ExPath   // 1 if a path at the address L + Value is Text, however many "//" and "/./" it has; 0 also where it cannot be read
	ExFile   // the number of the file that the descriptor L stands for; 0 where none is known
	ExShared // the value of the gauge of the whole process whose cell is at offset Value
	ExRenew  // the descriptor L stands for the file with the number R from now on, or for none that is known; its value is 0
)

// An Expr is an expression tree.
type Expr struct {
	Op     ExprOp
	Value  int64
	Size   uint8 // of ExNarrow, ExStack, ExLoad: 1, 2, 4 or 8 bytes
	Signed bool  // and whether they are extended with their sign
	Text   string
	L, R   *Expr
	Args   []*Expr // of a call: integers and addresses, six at most
}

// MaxExprDepth bounds the stack that evaluating an expression uses: 8 bytes a level.
const MaxExprDepth = 8

// Depth is the height of the tree.
func (e *Expr) Depth() int {
	if e == nil {
		return 0
	}
	depth := max(e.L.Depth(), e.R.Depth())
	for _, a := range e.Args {
		depth = max(depth, a.Depth())
	}
	return 1 + depth
}

// any reports whether something in the tree is of this kind.
func (e *Expr) any(is func(*Expr) bool) bool {
	if e == nil {
		return false
	}
	if is(e) || e.L.any(is) || e.R.any(is) {
		return true
	}
	for _, a := range e.Args {
		if a.any(is) {
			return true
		}
	}
	return false
}
