package lifecycle

import (
	"errors"

	"culprit/grid"
	"culprit/pcl"
)

// Of tells what state an error of the grid means: Deferred, Never (nothing helps on this machine), or Refused.
func Of(err error) State {
	var deferred grid.ErrDeferred
	var unsupported grid.ErrUnsupported
	var unknown grid.ErrUnknownMetric
	var exited grid.ErrTargetExited
	var cannot *pcl.Unsupported
	var noConstraint *pcl.NoConstraint
	switch {
	case errors.As(err, &deferred):
		return Deferred
	case errors.As(err, &unsupported), errors.As(err, &unknown), errors.As(err, &exited),
		errors.As(err, &cannot), errors.As(err, &noConstraint), pcl.NothingThere(err):
		return Never
	}
	return Refused
}

// Unmeasured says how it is told that something could not be tested: what is not in the program at all could not be by anybody.
func Unmeasured(err error) string {
	if pcl.NothingThere(err) {
		return "not measurable"
	}
	return "not tested"
}
