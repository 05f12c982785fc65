package compile

import (
	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/syntax"
	"culprit/pcl/types"
)

// A constraint of /IO, or of the locks of files, compares a descriptor with what was chosen. Descriptors come and go: the same one stands for one file now and
// for another later, and one file may have several. So what is compared is the file behind the descriptor. The functions that
// close or copy descriptors get code that keeps up with it (follow.go).

// asFileKind compiles a comparison of a descriptor with $constraint[i] where that is a type of /IO; nil if it is none.
func (c *compiler) asFileKind(e *syntax.Expr) (*pcl.Expr, error) {
	fd, kind := e.X, e.Y
	if c.isFileKind(fd) {
		fd, kind = kind, fd
	}
	if e.Text != "==" && e.Text != "!=" || !c.isFileKind(kind) || c.isString(fd) {
		return nil, nil
	}
	v, err := c.eval(kind)
	if err != nil {
		return nil, err
	}
	x, err := c.lower(fd)
	if err != nil {
		return nil, err
	}
	of := &pcl.Expr{Op: pcl.ExDiv, L: &pcl.Expr{Op: pcl.ExFile, L: x}, R: &pcl.Expr{Op: pcl.ExConst, Value: 1 << pcl.FileKindShift}}
	return &pcl.Expr{Op: pcl.Operators[e.Text], L: of, R: &pcl.Expr{Op: pcl.ExConst, Value: pcl.FileKinds[v.s]}}, nil
}

// isFileKind tells whether an expression is $constraint[i] where that is a type of /IO.
func (c *compiler) isFileKind(e *syntax.Expr) bool {
	return c.choice(e) == types.String && c.cons.Hierarchy == grid.IO
}

// choice is what $constraint[i] is in a constraint of /IO or of the locks of files; types.Bad for everything else.
func (c *compiler) choice(e *syntax.Expr) types.Type {
	if c.cons == nil || c.cons.Hierarchy != grid.IO && !pcl.IsFileLock(c.cons.Hierarchy, c.cons.Path) || e.Kind != syntax.Index || e.X.Text != "$constraint" {
		return types.Bad
	}
	i, ok := types.WholeNumber(e.Y)
	levels := types.ConstraintTypes(c.cons)
	if !ok || i < 0 || int(i) >= len(levels) {
		return types.Bad
	}
	return levels[i]
}

// asFiles makes the side that is compared with $constraint[i], where that is an open file or its lock, the file of a descriptor.
func (c *compiler) asFiles(e *syntax.Expr, x, y *pcl.Expr) (*pcl.Expr, *pcl.Expr) {
	switch left, right := c.isOpenFile(e.X), c.isOpenFile(e.Y); {
	case left && !right:
		return x, &pcl.Expr{Op: pcl.ExFile, L: y}
	case right && !left:
		return &pcl.Expr{Op: pcl.ExFile, L: x}, y
	}
	return x, y
}

// isOpenFile tells whether an expression is $constraint[i] where that stands for a file, a socket or a pipe.
func (c *compiler) isOpenFile(e *syntax.Expr) bool { return c.choice(e) == types.Int }
