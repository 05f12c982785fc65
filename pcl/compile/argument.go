package compile

import (
	"errors"

	"culprit/pcl"
	"culprit/pcl/syntax"
	"culprit/pcl/types"
)

// lowerArg compiles the value of an argument, or of a field that is reached from it.
func (c *compiler) lowerArg(e *syntax.Expr, path pcl.ArgPath) (*pcl.Expr, error) {
	if !typed(path) {
		return c.lowerPlain(e, path)
	}
	place, err := c.place(e, path)
	if err != nil {
		if x := c.untyped(path, err); x != nil { // it need not be there, so it is read with care
			return x, nil
		}
		return nil, err
	}
	return valueAt(place), nil
}

// onStack reads an argument that is passed on the stack if the function has it: the first one lies above the return address.
func onStack(index int) *pcl.Expr {
	return &pcl.Expr{Op: pcl.ExLoad, L: &pcl.Expr{Op: pcl.ExSP}, Value: int64(index-5) * 8, Size: 8}
}

// atEntry refuses arguments at loops and lines: by then registers hold something else.
func (c *compiler) atEntry(e *syntax.Expr, path pcl.ArgPath) error {
	if c.site.where != pcl.Entry {
		return syntax.ErrorAt(e.Pos, "found %s, expected it at the .entry of a function: elsewhere its arguments may be gone; keep it in a counter", path)
	}
	return nil
}

// typed tells whether a path means something else in each function.
func typed(p pcl.ArgPath) bool { return p.Name != "" || len(p.Fields) > 0 || p.Index > 5 }

// place asks where an argument is.
func (c *compiler) place(e *syntax.Expr, path pcl.ArgPath) (pcl.ArgPlace, error) {
	if err := c.atEntry(e, path); err != nil {
		return pcl.ArgPlace{}, err
	}
	place, err := c.env.Arg(c.site.fn, path)
	if err != nil {
		return place, &argError{syntax.ErrorAt(e.Pos, "found %s: %v", path, err), err}
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

// valueAt is what is found at a place.
func valueAt(p pcl.ArgPlace) *pcl.Expr {
	x := baseOfPlace(p)
	for i, l := range p.Loads {
		x = loadAt(p, i, l, x)
	}
	if len(p.Loads) == 0 && p.Narrow.Size != 0 && p.Narrow.Size != 8 {
		x = &pcl.Expr{Op: pcl.ExNarrow, L: x, Size: p.Narrow.Size, Signed: p.Narrow.Signed}
	}
	return x
}

func baseOfPlace(p pcl.ArgPlace) *pcl.Expr {
	if p.Register < 0 {
		return &pcl.Expr{Op: pcl.ExSP}
	}
	return &pcl.Expr{Op: pcl.ExArg, Value: int64(p.Register)}
}

// loadAt is load number i; what the function finds above its return address is certainly there.
func loadAt(p pcl.ArgPlace, i int, l pcl.ArgLoad, x *pcl.Expr) *pcl.Expr {
	if i == 0 && p.Register < 0 {
		return &pcl.Expr{Op: pcl.ExStack, Value: l.Offset, Size: l.Size, Signed: l.Signed}
	}
	return &pcl.Expr{Op: pcl.ExLoad, L: x, Value: l.Offset, Size: l.Size, Signed: l.Signed}
}

// onText tells whether an argument is compared with a text.
func (c *compiler) onText(e *syntax.Expr) bool {
	if e.Text != "==" && e.Text != "!=" {
		return false
	}
	_, x := types.ArgPath(e.X)
	_, y := types.ArgPath(e.Y)
	return x && c.isString(e.Y) || y && c.isString(e.X)
}

// lowerText compiles a comparison of an argument with a text.
func (c *compiler) lowerText(e *syntax.Expr) (*pcl.Expr, error) {
	arg, text := e.X, e.Y
	path, ok := types.ArgPath(arg)
	if !ok {
		arg, text = text, arg
		path, _ = types.ArgPath(arg)
	}
	want, err := c.eval(text)
	if err != nil {
		return nil, err
	}
	m, err := c.match(arg, path, want.s)
	if err != nil || e.Text == "==" {
		return m, err
	}
	return &pcl.Expr{Op: pcl.ExEq, L: m, R: &pcl.Expr{Op: pcl.ExConst}}, nil
}

// match compares the characters that an argument leads to with a text and its end. What cannot be read is not equal. Nothing is
// asked of memory behind the end of an equal text.
func (c *compiler) match(e *syntax.Expr, path pcl.ArgPath, text string) (*pcl.Expr, error) {
	if len(text) > pcl.MaxText {
		return nil, syntax.ErrorAt(e.Pos, "found a text of %d bytes, expected at most %d to compare %s with", len(text), pcl.MaxText, path)
	}
	path.Text = true
	place, err := c.place(e, path)
	x := valueAt(place)
	if err != nil {
		if x = c.untyped(path, err); x == nil {
			return nil, err
		}
	}
	if place.Room > 0 && len(text) > place.Room {
		return nil, syntax.ErrorAt(e.Pos, "found a text of %d bytes, expected at most %d: %s has no room for more", len(text), place.Room, path)
	}
	if place.Room == 0 || len(text) < place.Room {
		text += "\x00"
	}
	return &pcl.Expr{Op: pcl.ExMatch, L: x, Value: place.Offset, Text: text}, nil
}

// untyped is an argument that is taken for a pointer since no type of it is known; nil if there is no argument without one.
func (c *compiler) untyped(path pcl.ArgPath, err error) *pcl.Expr {
	var unknown *pcl.NoTypes
	switch {
	case !errors.As(err, &unknown) || path.Name != "" || len(path.Fields) > 0:
		return nil
	case path.Index > 5:
		return c.unknown(onStack(path.Index), path.String()+" of "+c.env.FuncName(c.site.fn))
	}
	return &pcl.Expr{Op: pcl.ExArg, Value: int64(path.Index)}
}
