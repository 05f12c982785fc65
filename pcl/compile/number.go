package compile

import (
	"errors"
	"fmt"
	"slices"

	"culprit/pcl"
	"culprit/pcl/syntax"
	"culprit/pcl/types"
)

// What may be asked of a number depends on whether its type is known: from DWARF, from a cast, or not at all.

// convert makes x a number of a type, as C does.
func convert(x *pcl.Expr, t types.Scalar, known bool) *pcl.Expr {
	switch {
	case t.Truth && known:
		return &pcl.Expr{Op: pcl.ExNe, L: x, R: &pcl.Expr{Op: pcl.ExConst}}
	case t.Truth: // of what is not known only the lowest byte is what the function has made
		return convert(convert(x, types.Unsigned(1), true), t, true)
	case t.Size == 8:
		return x
	case x.Op == pcl.ExNarrow && x.Size == t.Size && x.Signed == t.Signed:
		return x
	}
	return &pcl.Expr{Op: pcl.ExNarrow, L: x, Size: t.Size, Signed: t.Signed}
}

// lowerCast compiles (TYPE)x. The cast of an argument or of a result says what it is where nothing else does.
func (c *compiler) lowerCast(e *syntax.Expr) (*pcl.Expr, error) {
	t := types.CastTypes[e.Text]
	x, err := c.lower(e.X)
	if err != nil {
		return nil, err
	}
	_, raw := c.raw[x]
	if x.Op == pcl.ExConst {
		return &pcl.Expr{Op: pcl.ExConst, Value: t.Of(x.Value)}, nil
	}
	if raw && t.Size == 8 {
		y := *x // x itself stays of a type that is not known
		return &y, nil
	}
	return convert(x, t, !raw), nil
}

// unknown notes that nobody says of which type an expression is. what is its part of which that is so.
func (c *compiler) unknown(x *pcl.Expr, what string) *pcl.Expr {
	if c.raw == nil {
		c.raw = map[*pcl.Expr]string{}
	}
	c.raw[x] = what
	return x
}

// inherit makes an expression one of an unknown type if a part of it is.
func (c *compiler) inherit(x *pcl.Expr, parts ...*pcl.Expr) *pcl.Expr {
	for _, p := range parts {
		if what, ok := c.raw[p]; ok {
			return c.unknown(x, what)
		}
	}
	return x
}

// lowerReturn compiles $return: as a number of the type that DWARF says.
func (c *compiler) lowerReturn(e *syntax.Expr) (*pcl.Expr, error) {
	return c.result(e, &pcl.Expr{Op: pcl.ExReturn}, c.site.fn)
}

// result is what function f returns, as x reads it from the register.
func (c *compiler) result(e *syntax.Expr, x *pcl.Expr, f pcl.FuncID) (*pcl.Expr, error) {
	switch {
	case f == 0:
		return x, nil // the code is for no function: it is only looked at for errors
	case c.fromLibrary[f] && !c.env.OwnTypes(f):
		return c.unknown(x, e.String()+" of "+c.env.FuncName(f)), nil
	}
	t, err := c.env.Result(f)
	var none *pcl.NoTypes
	switch {
	case errors.As(err, &none):
		return c.unknown(x, e.String()+" of "+c.env.FuncName(f)), nil
	case err != nil:
		return nil, &argError{syntax.ErrorAt(e.Pos, "found %s, expected a whole number or a pointer: %v", e, err), err}
	case t.Size == 0:
		return x, nil
	}
	return convert(x, types.Scalar{Size: t.Size, Signed: t.Signed}, true), nil
}

// lowerPlain compiles $arg[0] to $arg[5]: with the type that DWARF says, else as the 64 bits of the register.
func (c *compiler) lowerPlain(e *syntax.Expr, path pcl.ArgPath) (*pcl.Expr, error) {
	x := &pcl.Expr{Op: pcl.ExArg, Value: int64(path.Index)}
	if err := c.atEntry(e, path); err != nil || c.site.fn == 0 {
		return x, err
	}
	if c.fromLibrary[c.site.fn] && !c.env.OwnTypes(c.site.fn) {
		return c.unknown(x, path.String()+" of "+c.env.FuncName(c.site.fn)), nil
	}
	place, err := c.env.Arg(c.site.fn, path)
	var missing *pcl.NoSuchName
	var none *pcl.NoValue
	switch {
	case err == nil && place.Register == path.Index && len(place.Loads) == 0:
		return valueAt(place), nil
	case err == nil: // a reference of C++: the address of what it stands for
		return x, nil
	case errors.As(err, &missing), errors.As(err, &none):
		return nil, &argError{syntax.ErrorAt(e.Pos, "found %s: %v", path, err), err}
	}
	return c.unknown(x, path.String()+" of "+c.env.FuncName(c.site.fn)), nil
}

// signAsked refuses comparisons whose outcome depends on a type that nobody says: with a negative number, and by order with 0 (or, which
// is the same, with 1). Others it notes: what a caller has left above the 32 bits of an int is compared, too.
func (c *compiler) signAsked(e *syntax.Expr, op pcl.ExprOp, x, y *pcl.Expr) error {
	if op < pcl.ExEq || op > pcl.ExGe {
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
	ordered := n == 0 && op != pcl.ExEq && op != pcl.ExNe || n == 1 && (op == pcl.ExLt || op == pcl.ExGe)
	if other.Op != pcl.ExConst || n >= 0 && !ordered {
		if !c.fromLibrary[c.site.fn] {
			c.noteUntyped(what)
		}
		return nil
	}
	return syntax.ErrorAt(e.Pos, "found %s, expected a type: DWARF does not say of which size and sign %s is; write %s if it is an int, (long) if it has 64 bits, or build with -g",
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
func (c *compiler) truthAsked(x *pcl.Expr) {
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
var mirrored = map[pcl.ExprOp]pcl.ExprOp{pcl.ExEq: pcl.ExEq, pcl.ExNe: pcl.ExNe, pcl.ExLt: pcl.ExGt, pcl.ExLe: pcl.ExGe, pcl.ExGt: pcl.ExLt, pcl.ExGe: pcl.ExLe}

// castExample is a comparison with a cast of its side that is no number.
func castExample(e *syntax.Expr) string {
	y := *e
	side := &y.X
	if _, ok := types.WholeNumber(e.X); ok {
		side = &y.Y
	}
	*side = &syntax.Expr{Kind: syntax.Cast, Text: "int", X: *side}
	return fmt.Sprint(&y)
}
