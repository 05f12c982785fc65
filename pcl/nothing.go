package pcl

import (
	"errors"
	"fmt"
	"strings"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// A NoFunction says that a name means no function of the target, or that it cannot be told which. Nothing could be counted there.
type NoFunction struct {
	Name    string
	Nearest []string         // functions that have similar names, most similar first
	May     []string         // functions of different scopes that the name may mean: it is ambiguous
	Why     string           // why there is no code of it although the program has it: "it is inlined everywhere"; "" if that is not so
	At      *grid.ErrRefused // of a focus on something that the target does not have: its whole message; else nil
}

// Unwrap gives At.
func (n *NoFunction) Unwrap() error {
	if n.At == nil {
		return nil
	}
	return *n.At
}

// Error says what there is instead.
func (n *NoFunction) Error() string {
	switch {
	case n.At != nil:
		return n.At.Error()
	case len(n.May) > 0:
		return fmt.Sprintf("%q may be any of %s; name one of them", n.Name, strings.Join(n.May, ", "))
	case n.Why != "":
		return fmt.Sprintf("no function matches %q: %s", n.Name, n.Why)
	}
	return fmt.Sprintf("no function matches %q%s", n.Name, n.NearestText())
}

// NearestText is the part of the message that names similar functions; "" if there are none.
func (n *NoFunction) NearestText() string {
	if len(n.Nearest) == 0 {
		return ""
	}
	return "; nearest: " + strings.Join(n.Nearest, ", ")
}

// NoPoint says that what a metric names is there, and has none of the points that it asks for.
type NoPoint struct{ Pair grid.PairKey }

// Error names the pair.
func (n *NoPoint) Error() string {
	return fmt.Sprintf("%v has no point in this program: the functions that it names are there, and have no such point (no calls, no return, no such loop), or its conditions leave them out", n.Pair)
}

// NoResult says that a function leaves by jumps to others: what it returns is made by them, later.
type NoResult struct {
	Function string
	Jumps    int      // exits that are such jumps
	Exits    int      // of so many
	To       []string // functions that are jumped to, as far as they are known
}

// Error says what can be measured instead.
func (n *NoResult) Error() string {
	to, instead := "", "the functions that it jumps to"
	if len(n.To) > 0 {
		instead = strings.Join(n.To, " and ")
		to = " (" + strings.Join(n.To, ", ") + ")"
	}
	return fmt.Sprintf("found $return of %[1]s, expected a function that returns by itself: %[1]s ends with a jump to another function%s at %d of its %d exits, whose result comes later; "+
		"measure $return of %s, or build with -fno-optimize-sibling-calls", n.Function, to, n.Jumps, n.Exits, instead)
}

// NothingThere reports whether an error says that a program has nothing of what a pair is about, or that it cannot be told what is meant: it
// is *NoFunction, *NoPoint, *NoResult, or a mistake that only shows in that program, such as a type that nobody says.
func NothingThere(err error) bool {
	var none *NoFunction
	var pointless *NoPoint
	var mistake *syntax.Error
	var later *NoResult
	return errors.As(err, &none) || errors.As(err, &pointless) || errors.As(err, &mistake) || errors.As(err, &later)
}
