package pcltest

import (
	"regexp"
	"time"

	"culprit/pcl/syntax"
)

// A File is one file of tests.
type File struct {
	Source *syntax.File
	Tests  []*Test // at least one where Parse reports no error
}

// A Test is one program, or several, and what is expected of them.
type Test struct {
	Name  string
	Pos   syntax.Pos
	Steps []Step // in the order in which they are done; those before the first test of the file included
}

// A Step is one statement: one of the types below.
type Step interface{ Place() syntax.Pos }

// At is where a statement stands; every Step has one.
type At struct{ Pos syntax.Pos }

// Place implements Step.
func (a At) Place() syntax.Pos { return a.Pos }

// A Body is the indented lines below a statement.
type Body struct {
	Pos syntax.Pos // of its first byte, which begins a line
	Raw string     // as in the file
}

// Needs asks for an installed program or file; without it the test is skipped. Its path becomes a variable.
type Needs struct {
	At
	Name    string // the variable
	Pattern Word   // of filepath.Match, if it has a slash; otherwise a name to be looked up in PATH
}

// Compile makes a program $dir/NAME of a C or C++ source.
type Compile struct {
	At
	Source string // the file's name; relative to the file of the test, if there is no body
	Flags  []Word
	Body   *Body // nil: Source is read
}

// WriteFile writes a body, less its common indentation, to $dir/NAME.
type WriteFile struct {
	At
	Name string
	Body Body
}

// PCL loads definitions beside the default library.
type PCL struct {
	At
	Body  *Body  // nil: File is read
	File  string // relative to the file of the test
	Error string // not "": the text must be refused with this in a message, and is not loaded
}

// Start starts a program that goes on beside the test.
type Start struct {
	At
	Name string // "" if it has none
	Args []Word
}

// Run runs a program to its end; its exit status must be 0.
type Run struct {
	At
	Args []Word
}

// Say writes a line to the standard input of a program.
type Say struct {
	At
	To   string // "" = the one that was started last
	Text Word
}

// What an Await waits for.
type AwaitKind string

// The things that can be waited for.
const (
	AwaitLine   AwaitKind = "line"   // a line that a program prints
	AwaitEnd    AwaitKind = "end"    // the end of a program
	AwaitFile   AwaitKind = "file"   // a file that is there
	AwaitSocket AwaitKind = "socket" // a Unix socket that accepts
	AwaitPort   AwaitKind = "port"   // a TCP port of 127.0.0.1 that accepts
	AwaitRun    AwaitKind = "run"    // a program that ends with 0
)

// Await waits.
type Await struct {
	At
	Kind   AwaitKind
	Who    string         // a program's name; "" = the one that was started last
	Line   *regexp.Regexp // of AwaitLine
	Status int            // of AwaitEnd; -1 = any
	Args   []Word         // of the others
	Within time.Duration
}

// Take gives a variable the first group of the last line of output that matches, or the whole match.
type Take struct {
	At
	Name   string
	Regexp *regexp.Regexp
}

// Sleep lets time pass.
type Sleep struct {
	At
	For time.Duration
}

// Measure attaches to a program and enables what is expected further down, up to the next Measure.
type Measure struct {
	At
	Who      string // a program's name; "" = the one that was started last
	PID      Word   // empty unless it is told by a variable
	Children bool
}

// Stop ends measuring, as the first Expect or Check does.
type Stop struct{ At }

// A Pair is a metric at a focus.
type Pair struct {
	Metric string
	Focus  Word // "/" where none is given
}

// Enable begins to measure a pair, and Disable ends it, while others are measured.
type Enable struct {
	At
	Pair
}

// Disable ends measuring a pair.
type Disable struct {
	At
	Pair
}

// Expect compares what a pair has measured.
type Expect struct {
	At
	Pair
	View     View
	Relation Relation // if Error is ""
	Error    string   // what must be in the message of why it cannot be measured
	As       string   // the variable that the value is given to, or ""
}

// Search runs the search on what is measured, as the program does for its users, until all that is expected of it holds, nothing
// is left that it could test, or the time is over.
type Search struct {
	At
	For time.Duration
}

// Hypothesis expects an answer of the search.
type Hypothesis struct {
	At
	Name  string
	Focus Word // "/" where none is given
	State State
}

// Check compares two expressions.
type Check struct {
	At
	Text     string // of the left one
	Expr     *Expr
	Relation Relation
}
