package daemon

import (
	"fmt"
	"strings"

	"culprit/daemon/program"
	"culprit/grid"
	"culprit/pcl"
)

// A target answers what the PCL compiler asks: it is a pcl.Env.

var _ pcl.Env = (*target)(nil)

// Start implements pcl.Env: main and the functions that threads were seen to start with.
func (t *target) Start() []pcl.FuncID { return program.Distinct(append(t.Named("main"), t.roots()...)) }

// Object implements pcl.Env.
func (t *target) Object(h grid.Hierarchy, elems []string) (uint64, error) {
	v, ok := t.constraint(h, elems)
	if !ok {
		return 0, fmt.Errorf("process %s has no /%s/%s that was seen so far", t.name, h, strings.Join(elems, "/"))
	}
	return v, nil
}

// OpenedAs implements pcl.Env.
func (t *target) OpenedAs(elems []string) []string { return t.files.OpenedAs(elems, t.d.Now()) }

// Machine implements pcl.Env.
func (t *target) Machine() string { return t.d.host }
