package target

import (
	"fmt"
	"strings"

	"culprit/daemon/program"
	"culprit/grid"
	"culprit/pcl"
)

// A target answers what the PCL compiler asks: it is a pcl.Env.

var _ pcl.Env = (*Target)(nil)

// Start implements pcl.Env: main and the functions that threads were seen to start with.
func (t *Target) Start() []pcl.FuncID {
	ids := t.Named("main")
	for _, f := range t.Threads.Roots() {
		ids = append(ids, pcl.FuncID(f))
	}
	return program.Distinct(ids)
}

// Object implements pcl.Env.
func (t *Target) Object(h grid.Hierarchy, elems []string) (uint64, error) {
	v, ok := t.constraint(h, elems)
	if !ok {
		return 0, fmt.Errorf("process %s has no /%s/%s that was seen so far", t.Name, h, strings.Join(elems, "/"))
	}
	return v, nil
}

// OpenedAs implements pcl.Env.
func (t *Target) OpenedAs(elems []string) []string { return t.Files.OpenedAs(elems, t.Now()) }

// Machine implements pcl.Env.
func (t *Target) Machine() string { return t.Host }
