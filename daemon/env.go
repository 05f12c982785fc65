package daemon

import (
	"fmt"
	"strings"

	"culprit/daemon/program"
	"culprit/grid"
	"culprit/pcl"
)

// A target answers what the PCL compiler asks: it is a pcl.Env.

var _ pcl.Env = (*measured)(nil)

// Start implements pcl.Env: main and the functions that threads were seen to start with.
func (t *measured) Start() []pcl.FuncID {
	return program.Distinct(append(t.Named("main"), t.roots()...))
}

// Object implements pcl.Env.
func (t *measured) Object(h grid.Hierarchy, elems []string) (uint64, error) {
	v, ok := t.constraint(h, elems)
	if !ok {
		return 0, fmt.Errorf("process %s has no /%s/%s that was seen so far", t.Name, h, strings.Join(elems, "/"))
	}
	return v, nil
}

// OpenedAs implements pcl.Env.
func (t *measured) OpenedAs(elems []string) []string { return t.Files.OpenedAs(elems, t.Now()) }

// Machine implements pcl.Env.
func (t *measured) Machine() string { return t.Host }
