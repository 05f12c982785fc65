package pcl

import (
	"errors"
	"fmt"
	"strings"

	"culprit/pcl/syntax"
)

// Bounds on arguments: characters of a text that one is compared with, and the number of one that is counted.
const (
	MaxText = 127
	maxArg  = 127
)

// An ArgPath names what is reached from an argument of a function: $arg.name or $arg[Index], and fields of it.
type ArgPath struct {
	Name   string // as in the source; "" = by Index
	Index  int    // in the order in which integers and pointers are passed: 0 to 5 in registers, then on the stack
	Fields []ArgField
	Text   bool // characters are wanted, not a number
}

// An ArgField is one step: of what a pointer leads to (->), or of what is there (.).
type ArgField struct {
	Name  string
	Deref bool
}

// String is the path as it is written in PCL.
func (p ArgPath) String() string {
	var sb strings.Builder
	if p.Name != "" {
		sb.WriteString("$arg." + p.Name)
	} else {
		fmt.Fprintf(&sb, "$arg[%d]", p.Index)
	}
	for _, f := range p.Fields {
		sb.WriteString([2]string{".", "->"}[truth(f.Deref)] + f.Name)
	}
	return sb.String()
}

// An ArgPlace says how what an ArgPath names is found at the entry of its function: the value begins as a register, or as the
// stack pointer, and each load replaces it by what it finds from there.
type ArgPlace struct {
	Register int // 0 to 5, as of $arg[0] to $arg[5]; -1: the stack pointer, which the first load reads from directly
	Loads    []ArgLoad
	Narrow   ArgLoad // of a register that nothing is loaded from: its Size bytes count
	Offset   int64   // of characters: they begin that many bytes from the value
	Room     int     // of characters: how many there are at most; 0 if only their end tells
}

// An ArgLoad reads Size bytes (1, 2, 4 or 8), extended with their sign if Signed, Offset bytes from an address.
type ArgLoad struct {
	Offset int64
	Size   uint8
	Signed bool
}

// NoTypes says that nothing is known of the types of a function's arguments, and why.
type NoTypes struct{ Function, Reason string }

// Error says what would help.
func (n *NoTypes) Error() string {
	return fmt.Sprintf("the types of %s are not known: %s", n.Function, n.Reason)
}

// NoSuchName says that a parameter or a field is not there, and which there are.
type NoSuchName struct {
	What, Name string // "field", "lenght"
	Of         string // "struct buffer"
	Known      []string
}

// Error names what there is.
func (n *NoSuchName) Error() string {
	const few = 12
	known := n.Known
	more := ""
	if len(known) > few {
		known, more = known[:few], fmt.Sprintf(" and %d more", len(n.Known)-few)
	}
	text := fmt.Sprintf("%s has no %s %q%s", n.Of, n.What, n.Name, syntax.DidYouMean(n.Name, n.Known))
	if len(known) == 0 {
		return text
	}
	return text + "; it has " + strings.Join(known, ", ") + more
}

// argPath reads $arg[1]->a.b; ok is false for anything that does not begin with an argument.
func argPath(e *syntax.Expr) (p ArgPath, ok bool) {
	switch {
	case e.Kind == syntax.Index && e.X.Kind == syntax.Ident && e.X.Text == "$arg":
		n, _ := wholeNumber(e.Y)
		return ArgPath{Index: int(n)}, true
	case e.Kind == syntax.Field && e.X.Kind == syntax.Ident && e.X.Text == "$arg":
		return ArgPath{Name: e.Text}, true
	case e.Kind == syntax.Field || e.Kind == syntax.Deref:
		if p, ok = argPath(e.X); ok {
			p.Fields = append(p.Fields, ArgField{e.Text, e.Kind == syntax.Deref})
		}
	}
	return p, ok
}

// typed tells whether the path means something else in each function.
func (p ArgPath) typed() bool { return p.Name != "" || len(p.Fields) > 0 || p.Index > 5 }

// asksTypes reports whether code must be compiled for each function by itself.
func asksTypes(code []*syntax.Code) (asks bool) {
	look := func(e *syntax.Expr) bool {
		_, ok := argPath(e)
		asks = asks || ok || e.Kind == syntax.Literal || e.Kind == syntax.Ident && e.Text == "$return"
		return !ok
	}
	for _, c := range code {
		c.Cond.Walk(look)
		c.Expr.Walk(look)
	}
	return asks
}

// lowerArg compiles the value of an argument, or of a field that is reached from it.
func (c *compiler) lowerArg(e *syntax.Expr, path ArgPath) (*Expr, error) {
	if !path.typed() {
		return c.lowerPlain(e, path)
	}
	place, err := c.place(e, path)
	if err != nil {
		if x := c.untyped(path, err); x != nil { // it need not be there, so it is read with care
			return x, nil
		}
		return nil, err
	}
	return place.value(), nil
}

// onStack reads an argument that is passed on the stack if the function has it: the first one lies above the return address.
func onStack(index int) *Expr {
	return &Expr{Op: ExLoad, L: &Expr{Op: ExSP}, Value: int64(index-5) * 8, Size: 8}
}

// atEntry refuses arguments at loops and lines: by then registers hold something else.
func (c *compiler) atEntry(e *syntax.Expr, path ArgPath) error {
	if c.site.where != Entry {
		return errorAt(e.Pos, "found %s, expected it at the .entry of a function: elsewhere its arguments may be gone; keep it in a counter", path)
	}
	return nil
}

// place asks where an argument is.
func (c *compiler) place(e *syntax.Expr, path ArgPath) (ArgPlace, error) {
	if err := c.atEntry(e, path); err != nil {
		return ArgPlace{}, err
	}
	place, err := c.env.Arg(c.site.fn, path)
	if err != nil {
		return place, &argError{errorAt(e.Pos, "found %s: %v", path, err), err}
	}
	return place, nil
}

// An argError is an error with its place in the text and its cause.
type argError struct {
	error // with the place
	cause error
}

// Unwrap gives both.
func (e *argError) Unwrap() []error { return []error{e.error, e.cause} }

// value is what is found at a place.
func (p ArgPlace) value() *Expr {
	x := p.base()
	for i, l := range p.Loads {
		x = p.load(i, l, x)
	}
	if len(p.Loads) == 0 && p.Narrow.Size != 0 && p.Narrow.Size != 8 {
		x = &Expr{Op: ExNarrow, L: x, Size: p.Narrow.Size, Signed: p.Narrow.Signed}
	}
	return x
}

func (p ArgPlace) base() *Expr {
	if p.Register < 0 {
		return &Expr{Op: ExSP}
	}
	return &Expr{Op: ExArg, Value: int64(p.Register)}
}

// load is load number i; what the function finds above its return address is certainly there.
func (p ArgPlace) load(i int, l ArgLoad, x *Expr) *Expr {
	if i == 0 && p.Register < 0 {
		return &Expr{Op: ExStack, Value: l.Offset, Size: l.Size, Signed: l.Signed}
	}
	return &Expr{Op: ExLoad, L: x, Value: l.Offset, Size: l.Size, Signed: l.Signed}
}

// onText tells whether an argument is compared with a text.
func (c *compiler) onText(e *syntax.Expr) bool {
	if e.Text != "==" && e.Text != "!=" {
		return false
	}
	_, x := argPath(e.X)
	_, y := argPath(e.Y)
	return x && c.isString(e.Y) || y && c.isString(e.X)
}

// lowerText compiles a comparison of an argument with a text.
func (c *compiler) lowerText(e *syntax.Expr) (*Expr, error) {
	arg, text := e.X, e.Y
	path, ok := argPath(arg)
	if !ok {
		arg, text = text, arg
		path, _ = argPath(arg)
	}
	want, err := c.eval(text)
	if err != nil {
		return nil, err
	}
	m, err := c.match(arg, path, want.s)
	if err != nil || e.Text == "==" {
		return m, err
	}
	return &Expr{Op: ExEq, L: m, R: &Expr{Op: ExConst}}, nil
}

// match compares the characters that an argument leads to with a text and its end. What cannot be read is not equal. Nothing is
// asked of memory behind the end of an equal text.
func (c *compiler) match(e *syntax.Expr, path ArgPath, text string) (*Expr, error) {
	if len(text) > MaxText {
		return nil, errorAt(e.Pos, "found a text of %d bytes, expected at most %d to compare %s with", len(text), MaxText, path)
	}
	path.Text = true
	place, err := c.place(e, path)
	x := place.value()
	if err != nil {
		if x = c.untyped(path, err); x == nil {
			return nil, err
		}
	}
	if place.Room > 0 && len(text) > place.Room {
		return nil, errorAt(e.Pos, "found a text of %d bytes, expected at most %d: %s has no room for more", len(text), place.Room, path)
	}
	if place.Room == 0 || len(text) < place.Room {
		text += "\x00"
	}
	return &Expr{Op: ExMatch, L: x, Value: place.Offset, Text: text}, nil
}

// untyped is an argument that is taken for a pointer since no type of it is known; nil if there is no argument without one.
func (c *compiler) untyped(path ArgPath, err error) *Expr {
	var unknown *NoTypes
	switch {
	case !errors.As(err, &unknown) || path.Name != "" || len(path.Fields) > 0:
		return nil
	case path.Index > 5:
		return c.unknown(onStack(path.Index), path.String()+" of "+c.env.FuncName(c.site.fn))
	}
	return &Expr{Op: ExArg, Value: int64(path.Index)}
}
