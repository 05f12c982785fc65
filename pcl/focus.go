package pcl

import (
	"errors"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// ParseFocus is grid.ParseFocus; its error suggests a name where one is similar.
func ParseFocus(text string, defined ...string) (grid.Focus, error) {
	f, err := grid.ParseFocus(text, defined...)
	return f, suggested(err)
}

// ParsePair is grid.ParsePair; its error suggests a name where one is similar.
func ParsePair(text string, defined ...string) (grid.PairKey, error) {
	k, err := grid.ParsePair(text, defined...)
	var focus *grid.FocusError
	if errors.As(err, &focus) && focus.Name != "" {
		err = suggested(focus)
	}
	return k, err
}

func suggested(err error) error {
	var focus *grid.FocusError
	if errors.As(err, &focus) && focus.Name != "" {
		focus.Nearest = syntax.Closest(focus.Name, focus.Known)
	}
	return err
}
