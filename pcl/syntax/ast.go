package syntax

// A Tree is one parsed text. Definitions with errors are left out of it.
type Tree struct {
	File *File
	Defs []*Def
	Tail []string // comments behind the last definition
}

// Comments are what was written about a node: above it (with their slashes; "" is an empty line), and behind it on its
// last line.
type Comments struct {
	Lead  []string
	Trail string
}

// A Def is one definition, or a constraint inside a metric.
type Def struct {
	Comments
	Pos     Pos    // of Name, or of Keyword where there is no name
	Keyword string // daemon process visi tunable_constant exclude resourceList metric constraint hypothesis hierarchy trace expect
	Name    string

	ListKind string   // resourceList: procedure module string int float
	Path     []string // constraint: the elements of the match path; nil for "constraint NAME;" inside a metric
	Base     *Base    // constraint: nil for "is default" and "is key"
	Replace  bool     // constraint: "is replace"
	Key      bool     // constraint: "is key"
	NoCase   bool     // exclude
	Regex    bool     // exclude
	Text     string   // exclude: the pattern
	Braced   bool     // tunable_constant: written with braces

	Items []*Item
	Tail  []string // comments behind the last item
}

// A Base is what is counted: a kind and the statements that do it.
type Base struct {
	Pos  Pos
	Kind string // counter gauge wallTimer processTimer hwCounter hwTimer kernel histogram void
	Arg  string // of hwCounter, hwTimer, kernel: the string; of histogram: the kind inside
	By   string // the counter by whose value it is told apart, "" if it is not
	Body *Stmt  // a block; nil if it was written as ";"
}

// An Item is one line between the braces of a definition.
type Item struct {
	Comments
	Pos    Pos
	Key    string  // the first word; "" for a tunable and for what an expect expects
	Values []Value // as written
	Braced bool    // the values were in braces
	Not    bool    // expect
	Expr   *Expr   // test, at, what is expected
	Exprs  []*Expr // record
	Def    *Def    // a constraint of a metric
	Base   *Base   // the base of a metric
}

// A ValueKind tells how a value was written.
type ValueKind uint8

// The kinds of values.
const (
	Word ValueKind = iota
	String
	Int
	Float
	Bool
)

// A Value is a literal in an item.
type Value struct {
	Pos     Pos
	Kind    ValueKind
	Text    string  // without quotes
	Num     float64 // of Int, Float, Bool
	Int     int64   // of Int: the 64 bits
	Pattern string  // "", "glob" or "regex", in a resourceList
}

// A StmtKind tells which statement it is.
type StmtKind uint8

// The statements.
const (
	Block StmtKind = iota
	Foreach
	If
	Instr
)

// A Stmt is a statement of a base or of a constraint.
type Stmt struct {
	Comments
	Kind StmtKind
	Pos  Pos

	Stmts []*Stmt  // Block
	Tail  []string // Block: comments behind the last statement; Instr: behind the last piece of code

	Var  string // Foreach
	Expr *Expr  // Foreach: the list; If: the condition; Instr: the point
	Body *Stmt  // Foreach, If

	Prepend     bool // Instr; else append
	Post        bool // Instr: postInsn; else preInsn
	Constrained bool // Instr
	// ConstrainedPos is where the word stands, or would stand.
	ConstrainedPos Pos // Instr
	Code           []*Code
}

// A Code is one primitive between (* and *).
type Code struct {
	Comments
	Pos  Pos
	Cond *Expr // nil = always
	Expr *Expr
}

// An ExprKind tells what an expression is.
type ExprKind uint8

// The expressions.
const (
	Number  ExprKind = iota // Int or, with IsFloat, Float
	Literal                 // Text is a string
	Ident                   // Text is a name, with its $ if it has one
	Call                    // Text(Args); Text may begin with $
	Index                   // X[Y]
	Field                   // X.Text
	Deref                   // X->Text
	AddrOf                  // &X
	Negate                  // -X
	Cast                    // (Text)X: X as a number of the type Text, such as "unsigned int"
	PostInc                 // X++
	Binary                  // X Text Y
	Assign                  // X Text Y with Text one of = += -=
	At                      // Text@"Focus": a metric at a focus; X is a Literal
)

// An Expr is an expression.
type Expr struct {
	Kind    ExprKind
	Pos     Pos // of the operator where one stands behind an operand, else of the first token
	Text    string
	Int     int64
	Float   float64
	IsFloat bool
	X, Y    *Expr
	Args    []*Expr
}

// Walk calls f for e and everything in it, from the outside inwards; f returns false to leave a part out.
func (e *Expr) Walk(f func(*Expr) bool) {
	if e == nil || !f(e) {
		return
	}
	e.X.Walk(f)
	e.Y.Walk(f)
	for _, a := range e.Args {
		a.Walk(f)
	}
}

// Walk calls f for every expression in s, points and conditions included.
func (s *Stmt) Walk(f func(*Expr) bool) {
	if s == nil {
		return
	}
	s.Expr.Walk(f)
	s.Body.Walk(f)
	for _, c := range s.Stmts {
		c.Walk(f)
	}
	for _, c := range s.Code {
		c.Cond.Walk(f)
		c.Expr.Walk(f)
	}
}
