package pcl

import (
	"slices"

	"culprit/grid"
)

// What a metric at a focus compiles to: pure data, the same every time, printable and comparable.

// A Plan is a compiled (metric, focus). Vars[0] is the metric's own variable (absent for Void, and for Kernel where nothing constrains it).
type Plan struct {
	Pair       grid.PairKey
	Kind       Kind
	KernelName string // for Kernel
	Event      string // for Kernel without KernelName: what perf calls the event of the CPU that the kernel counts
	Vars       []Var
	Requests   []Request
	// Process and Thread select where it runs; "" = all. They are the elements of the focus's Process part.
	Process, Thread string
	// ExcludeParked is set for waiting metrics: time of threads that are parked (idle) is not counted.
	ExcludeParked bool
	// Samples is "io" or "sync" where looks at threads that wait for that tell the value, "running" where samples of threads that run do, and not probes
	// or the kernel's own accounts; else "".
	Samples string
	// By is the key: the counter of the metric for each value of which Vars[0] has a sum of its own. 0 if there is none.
	By int
	// Keyed is set where the focus selects one value of it, Key. The code is that of the focus without this selection.
	Keyed bool
	Key   uint64
	// Distribution is set for histogram(kind): what comes to Vars[0], by an OpAdd or when its timer is stopped, is counted by size
	// as well.
	Distribution bool
	// Untyped are arguments and results that are summed or compared, or become the value, as the 64 bits of a register, since nobody says of
	// which type they are: "$return of read".
	Untyped []string
	// Absent are the names of lists that are no library's for which the program has nothing.
	Absent []*NoFunction
}

// A Var is one variable of a plan. Every variable but a Gauge exists once per thread of the target; all start at 0.
type Var struct {
	Name string
	Kind Kind // Counter (metric, flag, temporary), WallTimer, ProcessTimer, Gauge, ThreadGauge, or Kernel: how much Plan.KernelName grew
}

// Where says which points of a function a request goes to.
type Where uint8

// The points.
const (
	Entry  Where = iota
	Return       // every exit: ret, tail jmp, tail jcc
	Call         // one call site: Request.Site
	// Points of the loop with the number Request.Site.
	LoopEnter     // where control comes into it
	LoopExit      // where control goes out of it, returns from inside included
	LoopStartIter // where a turn begins: its head
	LoopEndIter   // where control goes back from the end of a turn to the next
	Insn          // the instruction Request.Site bytes from the function's entry
)

// OfLoop reports whether the points belong to a loop.
func (w Where) OfLoop() bool { return w >= LoopEnter && w <= LoopEndIter }

// A Request asks for code at all points of one kind of one function.
type Request struct {
	Func    FuncID
	Where   Where
	Site    int   // number of the call site or loop, or the distance of the instruction in bytes (may be negative)
	Post    bool  // postInsn (after the instruction); else preInsn
	Prepend bool  // first at the point; else last
	Guards  []int // variables that must be non-zero, tested in order
	Code    []Instr
	Follows bool // it only keeps up with what descriptors stand for: nothing is counted by it
	Listed  bool // of a list of a library: whoever wrote it knows at which exits its functions have a result
}

// An Op is a primitive.
type Op uint8

// The primitives. Enter and Leave belong to activations: Enter acts at the outermost activation only and remembers its
// stack pointer; Leave acts when that same activation returns. They survive recursion, exceptions and longjmp.
// Start, Stop and Set are plain.
const (
	OpAdd       Op = iota // Var += Expr
	OpSet                 // Var = Expr
	OpFlagEnter           // Var is true until the matching OpFlagLeave
	OpFlagLeave
	OpTimerEnter
	OpTimerLeave
	OpTimerStart // a running timer goes on
	OpTimerStop  // a stopped timer stays stopped
	OpCall       // Expr is evaluated for what it does; there is no Var
)

// An Instr is one primitive with an optional condition.
type Instr struct {
	Op   Op
	Var  int
	Expr *Expr // for OpAdd, OpSet and OpCall
	Cond *Expr // nil = always
}

// An ExprOp is an operator or a leaf of an expression.
type ExprOp uint8

// Leaves and operators; comparisons are signed and give 0 or 1.
const (
	ExConst  ExprOp = iota // Value
	ExArg                  // Value = 0..5: integer argument; valid at Entry only
	ExReturn               // integer return value; valid at Return only
	ExCallee               // address of the function that is called; valid before a call only
	ExVar                  // Value = index into Plan.Vars
	ExAdd
	ExSub
	ExMul
	ExEq
	ExNe
	ExLt
	ExLe
	ExGt
	ExGe
	ExAnd // logical
	ExOr
	ExNeg
	ExDiv    // the fraction is dropped; a division by 0 gives 0
	ExAddr   // address of the thread's own variable with the index Value
	ExCall   // what the target's function with the FuncID Value returns for Args
	ExNarrow // L cut to Size bytes and extended again
	ExSP     // the stack pointer; valid at Entry only
	ExStack  // Size bytes of the stack, Value bytes from ExSP, that are certainly there
	ExLoad   // Size bytes of the target's memory at L + Value; 0 where they cannot be read
	ExMatch  // 1 if the target's memory at L + Value holds the bytes of Text, else 0, also where it cannot be read
	ExPath   // 1 if the path at L + Value in the target's memory names what Text does, however many "//" and "/./" it has, else 0
	ExFile   // what Env.Object gave for the open file, socket or pipe that the descriptor L stands for now; 0 if nobody asked for it
	ExRenew  // the descriptor L stands for what the number R says from now on; for nothing that is known if R is nil
)

// An Expr is an integer expression of 64 bits.
type Expr struct {
	Op     ExprOp
	Value  int64
	Size   uint8 // of ExNarrow, ExStack and ExLoad: 1, 2, 4 or 8 bytes
	Signed bool  // and whether they are extended with their sign
	Text   string
	L, R   *Expr
	Args   []*Expr // of a call
}

// KeptByKernel reports whether the plan has no code: what it measures is read from the kernel as it is.
func (p *Plan) KeptByKernel() bool { return p.Kind == Kernel && len(p.Vars) == 0 && p.Samples == "" }

// Sets reports whether code of the plan assigns to the metric's own variable: its value is known absolutely from then on. Adds reports
// whether some adds to it.
func (p *Plan) Sets() bool { return p.has(OpSet) }

// Adds is the other half of Sets.
func (p *Plan) Adds() bool { return p.has(OpAdd) }

func (p *Plan) has(op Op) bool {
	for i := range p.Requests {
		for _, in := range p.Requests[i].Code {
			if in.Op == op && in.Var == 0 {
				return true
			}
		}
	}
	return false
}

// Restricted reports whether code or threads are chosen beside a key.
func (p *Plan) Restricted() bool {
	f := p.Pair.Focus
	return len(f.Elements(grid.Code))+len(f.Elements(grid.Process)) > 0 || f.Depth(grid.Defined) > 0
}

// UsesFiles reports whether the plan asks what descriptors stand for.
func (p *Plan) UsesFiles() bool {
	return slices.ContainsFunc(p.Requests, func(r Request) bool {
		return slices.ContainsFunc(r.Code, func(in Instr) bool { return in.Expr.usesFiles() || in.Cond.usesFiles() })
	})
}

// Reads reports whether the code of a request reads a variable.
func (r *Request) Reads(variable int) bool {
	return slices.ContainsFunc(r.Code, func(in Instr) bool { return in.Expr.reads(variable) || in.Cond.reads(variable) })
}

func (e *Expr) reads(variable int) bool {
	return e != nil && (e.Op == ExVar && e.Value == int64(variable) || e.L.reads(variable) || e.R.reads(variable) ||
		slices.ContainsFunc(e.Args, func(a *Expr) bool { return a.reads(variable) }))
}

func (e *Expr) usesFiles() bool {
	return e != nil && (e.Op == ExFile || e.L.usesFiles() || e.R.usesFiles() || slices.ContainsFunc(e.Args, (*Expr).usesFiles))
}

// Beyond lists the requests of the plan that an older plan of the same pair does not have.
func (p *Plan) Beyond(old *Plan) []Request {
	had := map[string]bool{}
	for i := range old.Requests {
		had[old.RequestText(&old.Requests[i])] = true
	}
	var out []Request
	for i := range p.Requests {
		if !had[p.RequestText(&p.Requests[i])] {
			out = append(out, p.Requests[i])
		}
	}
	return out
}

// FileKinds are the types below /IO. The number of an open file is its type shifted by FileKindShift; in the bits below stands a number
// of the file itself, if somebody asked for it.
var FileKinds = map[string]int64{"File": 1, "Socket": 2, "Pipe": 3}

// FileLock is the kind of synchronisation object that the lock of a file is. Its name is that of the file.
const FileLock = "FileLock"

// IsFileLock reports whether what is chosen in a hierarchy are locks of files: their numbers are those of the files.
func IsFileLock(h grid.Hierarchy, elems []string) bool {
	return h == grid.SyncObject && len(elems) > 0 && elems[0] == FileLock
}

// FileKindShift is how many bits the number of a file has below its type.
const FileKindShift = 28
