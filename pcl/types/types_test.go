package types

import (
	"math"
	"slices"
	"testing"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/syntax"
)

// TestOf: a constant becomes a number of a type as C makes it one.
func TestOf(t *testing.T) {
	for _, c := range []struct {
		cast     string
		in, want int64
	}{
		{"bool", 256, 1}, {"bool", 0, 0}, {"char", 200, -56}, {"unsigned char", -1, 255}, {"short", 1 << 15, math.MinInt16},
		{"uint16_t", -1, math.MaxUint16}, {"int", math.MaxUint32, -1}, {"unsigned", -1, math.MaxUint32}, {"long", -1, -1}, {"size_t", -1, -1},
	} {
		if got := CastTypes[c.cast].Of(c.in); got != c.want {
			t.Errorf("(%s)%d is %d, want %d", c.cast, c.in, got, c.want)
		}
	}
}

// TestConstraintTypes: $constraint[0] is what is chosen, [1] its parent.
func TestConstraintTypes(t *testing.T) {
	for _, c := range []struct {
		h    grid.Hierarchy
		path []string
		want []Type
	}{
		{grid.Code, nil, []Type{Module}},
		{grid.Code, []string{"*", "*"}, []Type{Loop, Procs, Module}},
		{grid.SyncObject, []string{"Mutex"}, []Type{Int, String}},
		{grid.Process, nil, []Type{String}},
	} {
		if got := ConstraintTypes(&pcl.Constraint{Hierarchy: c.h, Path: c.path}); !slices.Equal(got, c.want) {
			t.Errorf("/%v with %v: %v, want %v", c.h, c.path, got, c.want)
		}
	}
}

// expression is the one that a text of PCL expects.
func expression(t *testing.T, text string) *syntax.Expr {
	t.Helper()
	tree, errs := syntax.Parse("test.pcl", "expect e { "+text+"; }")
	if len(errs) > 0 {
		t.Fatal(errs[0].Detail())
	}
	return tree.Defs[0].Items[0].Expr
}

// TestArgPath: what begins with an argument is a path, and its text is the one that was written.
func TestArgPath(t *testing.T) {
	for _, text := range []string{"$arg[2]", "$arg.size", "$arg[0]->next.len", "$arg.list->head->n"} {
		p, ok := ArgPath(expression(t, text))
		if !ok || p.String() != text {
			t.Errorf("%s: %v %v", text, p, ok)
		}
	}
	for _, text := range []string{"$constraint[0]", "$return", "x.y", "1"} {
		if p, ok := ArgPath(expression(t, text)); ok {
			t.Errorf("%s is taken for the argument %v", text, p)
		}
	}
}

// TestWholeNumber: a literal, with or without a minus, and nothing else.
func TestWholeNumber(t *testing.T) {
	for text, want := range map[string]int64{"7": 7, "-7": -7, "-(-7)": 7} {
		if n, ok := WholeNumber(expression(t, text)); !ok || n != want {
			t.Errorf("%s: %d %v", text, n, ok)
		}
	}
	for _, text := range []string{"1.5", "x", "1 + 1"} {
		if _, ok := WholeNumber(expression(t, text)); ok {
			t.Errorf("%s is taken for a whole number", text)
		}
	}
}
