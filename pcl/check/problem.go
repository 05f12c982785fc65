package check

import "culprit/pcl/syntax"

// A Problem is something wrong in a loaded text, or with SeverityWarning something that looks wrong.
type Problem struct {
	Severity Severity
	Pos      syntax.Pos
	Msg      string // with the definition it is about: "metric cpu: ..."
}

// The severities.
const (
	SeverityError   Severity = iota // the definition was left out; the rest of the text is there
	SeverityWarning                 // the definition is in force, but is most likely not what was meant
)

// A Severity tells what a problem does to the definition that it is about.
type Severity uint8

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

// problemAt makes an error. Whatever the message quotes is shortened and made fit for a terminal.
func problemAt(pos syntax.Pos, format string, args ...any) Problem {
	e := syntax.ErrorAt(pos, format, args...)
	return Problem{Pos: e.Pos, Msg: e.Msg}
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
