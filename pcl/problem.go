package pcl

import (
	"errors"
	"fmt"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// A Severity tells what a problem does to the definition that it is about.
type Severity uint8

// The severities.
const (
	SeverityError   Severity = iota // the definition was left out; the rest of the text is there
	SeverityWarning                 // the definition is in force, but is most likely not what was meant
)

// A Problem is something wrong in a loaded text, or with SeverityWarning something that looks wrong.
type Problem struct {
	Severity Severity
	Pos      syntax.Pos
	Msg      string // with the definition it is about: "metric cpu: ..."
}

// Error is the problem on one line: "file:line:col: message", a warning with the word before its message.
func (p Problem) Error() string { return p.located().Error() }

// Detail is the problem with the source line and a caret below it.
func (p Problem) Detail() string { return p.located().Detail() }

func (p Problem) located() *syntax.Error {
	msg := p.Msg
	if p.Severity == SeverityWarning {
		msg = "warning: " + msg
	}
	return &syntax.Error{Pos: p.Pos, Msg: msg}
}

// maxMessage is how many characters of a message are shown: what it quotes may be as long as the text.
const maxMessage = 600

// problemAt makes an error. Whatever the message quotes is shortened and made fit for a terminal.
func problemAt(pos syntax.Pos, format string, args ...any) Problem {
	return Problem{Pos: pos, Msg: syntax.Shorten(fmt.Sprintf(format, args...), maxMessage)}
}

// A problemList keeps the first problems and counts the others.
type problemList struct {
	list []Problem
	more int
	next Problem // the first that was not kept
}

// maxProblems bounds what is reported for bad input.
const maxProblems = 200

// full: what is added is only counted, so its message need not be good.
func (l *problemList) full() bool { return len(l.list) >= maxProblems }

func (l *problemList) add(p Problem) {
	switch {
	case !l.full():
		l.list = append(l.list, p)
		return
	case l.more == 0:
		l.next = p
	}
	l.more++
}

// all lists what was kept, and behind it how many more there were.
func (l *problemList) all() []Problem {
	if l.more == 0 {
		return l.list
	}
	p := problemAt(l.next.Pos, "and %d more problems, the first of them here", l.more)
	p.Severity = l.next.Severity
	return append(l.list, p)
}

// Unsupported says that a text means something that this version cannot measure. It wraps grid.ErrUnsupported.
type Unsupported struct {
	Pos   syntax.Pos
	What  string // "a call of MPI_Type_size in the target"
	Needs string // what would be needed
}

// Error gives the place, what is not there, and what it would need.
func (u *Unsupported) Error() string {
	return fmt.Sprintf("%v: %s is not in this version: it needs %s", u.Pos, u.What, u.Needs)
}

// Unwrap is the error that readers of the grid know.
func (u *Unsupported) Unwrap() error { return grid.ErrUnsupported{What: u.What, Needs: u.Needs} }

// NoConstraint says that a metric cannot be restricted to a focus, because none of its constraints covers a hierarchy
// that the focus refines.
type NoConstraint struct {
	Metric    string
	Hierarchy grid.Hierarchy
	Focus     grid.Focus
	Known     []string // the paths of the constraints that the metric has
}

// Error names the metric, the hierarchy, and what the metric can be restricted to.
func (n *NoConstraint) Error() string {
	known := "it can be read for the whole program, for processes and for threads only"
	if len(n.Known) > 0 {
		known = fmt.Sprintf("it has constraints for %v", n.Known)
	}
	return fmt.Sprintf("metric %s cannot be read at %s: no constraint of it covers this part of /%s; %s",
		n.Metric, n.Focus, n.Hierarchy, known)
}

// UnknownMetric says that no metric of this name is defined, and which one may be meant. It wraps grid.ErrUnknownMetric.
type UnknownMetric struct{ Name, Nearest string }

// Error names the metric and the nearest one that exists.
func (u *UnknownMetric) Error() string {
	msg := u.Unwrap().Error()
	if u.Nearest != "" {
		msg += fmt.Sprintf(" (did you mean %q?)", u.Nearest)
	}
	return msg
}

// Unwrap is the error that readers of the grid know.
func (u *UnknownMetric) Unwrap() error { return grid.ErrUnknownMetric{Name: u.Name} }

// IsUnsupported reports whether err is or wraps an *Unsupported.
func IsUnsupported(err error) bool {
	var u *Unsupported
	return errors.As(err, &u)
}
