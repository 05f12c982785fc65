package pcl

import (
	"fmt"

	"culprit/grid"
	"culprit/pcl/syntax"
)

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

// UnknownItem says that a focus selects an item that no text defines.
type UnknownItem struct {
	Focus   grid.Focus
	Nearest string // the nearest item that the hierarchy has; ""
}

// Error names the item and the nearest one that exists.
func (u *UnknownItem) Error() string {
	h, item, _ := u.Focus.Item()
	msg := fmt.Sprintf("%v: the hierarchy %s has no item %q, expected one that it has", u.Focus, h, item)
	if u.Nearest != "" {
		msg += fmt.Sprintf(" (did you mean %q?)", u.Nearest)
	}
	return msg
}

// ProbesReadCounters is what metrics need that count events of the CPU in code.
const ProbesReadCounters = "hardware counters that a probe can read"
