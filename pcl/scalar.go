package pcl

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"culprit/pcl/syntax"
)

// Types of numbers: what DWARF says of arguments and results, what a cast says, and what may be asked of a number of which nobody says
// anything. A register has 64 bits; a function that returns an int leaves anything in the upper half, so -1 is 4294967295 there.

// A NoValue says that something is known not to be a number that a probe can read: a floating-point number, a structure, nothing.
type NoValue struct{ Reason string }

// Error is the reason.
func (n *NoValue) Error() string { return n.Reason }

// A scalar is a type of whole numbers.
type scalar struct {
	size   uint8
	signed bool
	truth  bool // bool: 0 or 1
}

// castTypes are the types of casts by their names; words that C lets stand in any order stand in the usual one.
var castTypes = map[string]scalar{
	"bool": truthValue, "_Bool": truthValue,
	"char": signed(1), "signed char": signed(1), "unsigned char": unsigned(1), "int8_t": signed(1), "uint8_t": unsigned(1),
	"short": signed(2), "short int": signed(2), "unsigned short": unsigned(2), "unsigned short int": unsigned(2), "int16_t": signed(2), "uint16_t": unsigned(2),
	"int": signed(4), "signed": signed(4), "signed int": signed(4), "unsigned": unsigned(4), "unsigned int": unsigned(4), "int32_t": signed(4), "uint32_t": unsigned(4),
	"long": signed(8), "long int": signed(8), "long long": signed(8), "long long int": signed(8), "int64_t": signed(8), "ssize_t": signed(8), "intptr_t": signed(8),
	"unsigned long": unsigned(8), "unsigned long int": unsigned(8), "unsigned long long": unsigned(8), "unsigned long long int": unsigned(8), "uint64_t": unsigned(8),
	"size_t": unsigned(8), "uintptr_t": unsigned(8),
}

var truthValue = scalar{size: 1, truth: true}

func signed(size uint8) scalar   { return scalar{size: size, signed: true} }
func unsigned(size uint8) scalar { return scalar{size: size} }

// cast checks (TYPE)x.
func (c *codeChecker) cast(e *syntax.Expr) typ {
	if _, ok := castTypes[e.Text]; !ok {
		if strings.Contains(e.Text, "float") || strings.Contains(e.Text, "double") {
			return c.fail(e.Pos, "found the type %s, expected one of whole numbers, such as (int): probes do not read floating-point numbers", e.Text)
		}
		return c.fail(e.Pos, "found the type %q, expected (char), (short), (int), (long), one of them behind unsigned, or (bool), (int8_t) to (uint64_t), (size_t), (ssize_t)", e.Text)
	}
	c.wantInt(e.X)
	return tInt
}

// convert makes x a number of a type, as C does.
func convert(x *Expr, t scalar, known bool) *Expr {
	switch {
	case t.truth && known:
		return &Expr{Op: ExNe, L: x, R: &Expr{Op: ExConst}}
	case t.truth: // of what is not known only the lowest byte is what the function has made
		return convert(convert(x, unsigned(1), true), t, true)
	case t.size == 8:
		return x
	case x.Op == ExNarrow && x.Size == t.size && x.Signed == t.signed:
		return x
	}
	return &Expr{Op: ExNarrow, L: x, Size: t.size, Signed: t.signed}
}

// lowerCast compiles (TYPE)x. The cast of an argument or of a result says what it is where nothing else does.
func (c *compiler) lowerCast(e *syntax.Expr) (*Expr, error) {
	t := castTypes[e.Text]
	x, err := c.lower(e.X)
	if err != nil {
		return nil, err
	}
	_, raw := c.raw[x]
	if x.Op == ExConst {
		return &Expr{Op: ExConst, Value: t.of(x.Value)}, nil
	}
	if raw && t.size == 8 {
		y := *x // x itself stays of a type that is not known
		return &y, nil
	}
	return convert(x, t, !raw), nil
}

// of is a constant as a number of the type.
func (t scalar) of(n int64) int64 {
	switch {
	case t.truth:
		return truth(n != 0)
	case t.size == 1 && t.signed:
		return int64(int8(n))
	case t.size == 1:
		return int64(uint8(n))
	case t.size == 2 && t.signed:
		return int64(int16(n))
	case t.size == 2:
		return int64(uint16(n))
	case t.size == 4 && t.signed:
		return int64(int32(n))
	case t.size == 4:
		return int64(uint32(n))
	}
	return n
}

// unknown notes that nobody says of which type an expression is. what is its part of which that is so.
func (c *compiler) unknown(x *Expr, what string) *Expr {
	if c.raw == nil {
		c.raw = map[*Expr]string{}
	}
	c.raw[x] = what
	return x
}

// inherit makes an expression one of an unknown type if a part of it is.
func (c *compiler) inherit(x *Expr, parts ...*Expr) *Expr {
	for _, p := range parts {
		if what, ok := c.raw[p]; ok {
			return c.unknown(x, what)
		}
	}
	return x
}

// lowerReturn compiles $return: as a number of the type that DWARF says.
func (c *compiler) lowerReturn(e *syntax.Expr) (*Expr, error) {
	return c.result(e, &Expr{Op: ExReturn}, c.site.fn)
}

// result is what function f returns, as x reads it from the register.
func (c *compiler) result(e *syntax.Expr, x *Expr, f FuncID) (*Expr, error) {
	switch {
	case f == 0:
		return x, nil // the code is for no function: it is only looked at for errors
	case c.fromLibrary[f] && !c.env.OwnTypes(f):
		return c.unknown(x, e.String()+" of "+c.env.FuncName(f)), nil
	}
	t, err := c.env.Result(f)
	var none *NoTypes
	switch {
	case errors.As(err, &none):
		return c.unknown(x, e.String()+" of "+c.env.FuncName(f)), nil
	case err != nil:
		return nil, &argError{errorAt(e.Pos, "found %s, expected a whole number or a pointer: %v", e, err), err}
	case t.Size == 0:
		return x, nil
	}
	return convert(x, scalar{size: t.Size, signed: t.Signed}, true), nil
}

// lowerPlain compiles $arg[0] to $arg[5]: with the type that DWARF says, else as the 64 bits of the register.
func (c *compiler) lowerPlain(e *syntax.Expr, path ArgPath) (*Expr, error) {
	x := &Expr{Op: ExArg, Value: int64(path.Index)}
	if err := c.atEntry(e, path); err != nil || c.site.fn == 0 {
		return x, err
	}
	if c.fromLibrary[c.site.fn] && !c.env.OwnTypes(c.site.fn) {
		return c.unknown(x, path.String()+" of "+c.env.FuncName(c.site.fn)), nil
	}
	place, err := c.env.Arg(c.site.fn, path)
	var missing *NoSuchName
	var none *NoValue
	switch {
	case err == nil && place.Register == path.Index && len(place.Loads) == 0:
		return place.value(), nil
	case err == nil: // a reference of C++: the address of what it stands for
		return x, nil
	case errors.As(err, &missing), errors.As(err, &none):
		return nil, &argError{errorAt(e.Pos, "found %s: %v", path, err), err}
	}
	return c.unknown(x, path.String()+" of "+c.env.FuncName(c.site.fn)), nil
}

// signAsked refuses comparisons whose outcome depends on a type that nobody says: with a negative number, and by order with 0 (or, which
// is the same, with 1). Others it notes: what a caller has left above the 32 bits of an int is compared, too.
func (c *compiler) signAsked(e *syntax.Expr, op ExprOp, x, y *Expr) error {
	if op < ExEq || op > ExGe {
		return nil
	}
	what, other := c.raw[x], y
	if what == "" {
		what, other, op = c.raw[y], x, mirrored[op]
	}
	if what == "" {
		return nil
	}
	n := other.Value
	ordered := n == 0 && op != ExEq && op != ExNe || n == 1 && (op == ExLt || op == ExGe)
	if other.Op != ExConst || n >= 0 && !ordered {
		if !c.fromLibrary[c.site.fn] {
			c.noteUntyped(what)
		}
		return nil
	}
	return errorAt(e.Pos, "found %s, expected a type: DWARF does not say of which size and sign %s is; write %s if it is an int, (long) if it has 64 bits, or build with -g",
		e, what, castExample(e))
}

// summed notes what is added to a number, or becomes the value of the metric, although nobody says of which type it is: an int of -1 is
// 4294967295 there. Another counter may hold it, as it is.
func (c *compiler) summed(e *syntax.Expr, what string) {
	if e.Text != "=" || e.X.Text == c.m.Name {
		c.noteUntyped(what)
	}
}

// truthAsked notes that something of an unknown type is asked whether it is 0: of a bool or an int only a part of the register is.
func (c *compiler) truthAsked(x *Expr) {
	if what, ok := c.raw[x]; ok && !c.fromLibrary[c.site.fn] {
		c.noteUntyped(what)
	}
}

func (c *compiler) noteUntyped(what string) {
	if !slices.Contains(c.plan.Untyped, what) {
		c.plan.Untyped = append(c.plan.Untyped, what)
	}
}

// mirrored are the comparisons with the sides exchanged.
var mirrored = map[ExprOp]ExprOp{ExEq: ExEq, ExNe: ExNe, ExLt: ExGt, ExLe: ExGe, ExGt: ExLt, ExGe: ExLe}

// castExample is a comparison with a cast of its side that is no number.
func castExample(e *syntax.Expr) string {
	y := *e
	side := &y.X
	if _, ok := wholeNumber(e.X); ok {
		side = &y.Y
	}
	*side = &syntax.Expr{Kind: syntax.Cast, Text: "int", X: *side}
	return fmt.Sprint(&y)
}
