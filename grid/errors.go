package grid

import (
	"fmt"
	"strings"
)

// The reasons why a pair is not measured. They are values of these types (possibly wrapped), so that a reader of the
// grid can tell them apart with errors.As without knowing who measures.

// ErrRefused says that a point of the target cannot be patched safely.
type ErrRefused struct {
	Point  string // function or point
	Reason string
}

// Error gives the point and the reason.
func (e ErrRefused) Error() string { return fmt.Sprintf("refused at %s: %s", e.Point, e.Reason) }

// ErrDeferred says that it could not be done now; asking again later may succeed.
type ErrDeferred struct{ Reason string }

// Error gives the reason.
func (e ErrDeferred) Error() string { return "not possible now, try again later: " + e.Reason }

// ErrUnsupported says that this machine, kernel or target lacks something.
type ErrUnsupported struct {
	What  string // what was asked for
	Needs string // what would be needed; "" if nothing helps
}

// Error says what was asked for and what it needs.
func (e ErrUnsupported) Error() string {
	if e.Needs == "" {
		return e.What + " is not supported here"
	}
	return fmt.Sprintf("%s is not supported here: needs %s", e.What, e.Needs)
}

// ErrNotPermitted says that the system forbids it.
type ErrNotPermitted struct {
	What string
	Help string // the command that would help
}

// Error says what is forbidden and what would help.
func (e ErrNotPermitted) Error() string {
	if e.Help == "" {
		return "not permitted: " + e.What
	}
	return fmt.Sprintf("not permitted: %s; %s", e.What, e.Help)
}

// ErrTargetExited says that the target is gone.
type ErrTargetExited struct{ PID int }

// Error names the process.
func (e ErrTargetExited) Error() string { return fmt.Sprintf("process %d has ended", e.PID) }

// ErrUnknownMetric says that no metric of this name is defined.
type ErrUnknownMetric struct{ Name string }

// Error names the metric and says where the names are listed.
func (e ErrUnknownMetric) Error() string {
	return fmt.Sprintf("unknown metric %s; `culprit metrics` lists the names", quote(e.Name))
}

// A FocusError says where the text of a focus or of a pair is wrong.
type FocusError struct {
	Text     string // the whole text
	Column   int    // in characters, from 1
	Found    string
	Expected string
	Name     string   // the name that is not known, where it is one
	Known    []string // what there is instead of Name
	Nearest  string   // of Known; "" here: whoever shows the error may set it
}

// Error gives the column, what was found and what was expected.
func (e *FocusError) Error() string {
	text := fmt.Sprintf("focus %s: column %d: found %s, expected %s", quote(e.Text), e.Column, e.Found, e.Expected)
	if e.Nearest != "" {
		text += fmt.Sprintf(" (did you mean %s?)", quote(e.Nearest))
	}
	return text
}

// Caret is two lines for a terminal: the text, and a caret under the wrong column. Long text is cut around the column,
// and characters that are not printable ASCII are shown as dots, so that the caret stands right and the text is harmless.
func (e *FocusError) Caret() string {
	runes := []rune(e.Text)
	at := min(max(e.Column-1, 0), len(runes))
	from, to := max(0, at-50), min(len(runes), at+20)
	var b strings.Builder
	for _, r := range runes[from:to] {
		if r < ' ' || r > '~' {
			r = '.'
		}
		b.WriteRune(r)
	}
	return b.String() + "\n" + strings.Repeat(" ", at-from) + "^"
}

// ErrNotSampled says that a metric cannot be estimated from stack samples, which is all that is taken of the target.
type ErrNotSampled struct {
	Metric string
	Verb   string // "counted" or "told"
	Why    string // "" if the verb says it all
}

// Error says what would help.
func (e ErrNotSampled) Error() string {
	why := ""
	if e.Why != "" {
		why = ": " + e.Why
	}
	return fmt.Sprintf("%s cannot be %s by stack samples%s; it needs probes (--backend probe), which not every program can have", e.Metric, e.Verb, why)
}
