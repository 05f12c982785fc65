package pcl

import (
	"fmt"
	"strings"

	"culprit/pcl/syntax"
)

// Bounds on arguments: characters of a text that one is compared with, and the number of one that is counted.
const (
	MaxText = 127
	MaxArg  = 127
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
		if f.Deref {
			sb.WriteString("->" + f.Name)
		} else {
			sb.WriteString("." + f.Name)
		}
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

// A NoValue says that something is known not to be a number that a probe can read: a floating-point number, a structure, nothing.
type NoValue struct{ Reason string }

// Error is the reason.
func (n *NoValue) Error() string { return n.Reason }

// MaxCallArgs is how many arguments a function is called with at most: those that are passed in registers.
const MaxCallArgs = 6
