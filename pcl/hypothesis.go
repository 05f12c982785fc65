package pcl

import "culprit/grid"

// A Hypothesis is one entry of the why axis, as written in PCL.
type Hypothesis struct {
	Name, Parent string // Parent is "" or "top" for the roots
	// Label is what is said of it in a sentence. The consultant fills in {percent} {value} {threshold} {function} {source}
	// {object} {process} {since} {focus}; see lib/why.pcl.
	Label      string
	Explain    string
	Comparison                  // of its test, with < or >
	Given      *Comparison      // where it does not hold the test says nothing, of no use either way; nil = always
	Stake      Formula          // share of the program's active time, 0..1, that would be gained at most if what is found were mended; nil = not told
	Whole      Formula          // how many Units a value of 1 is: a share is told in them, too; nil = it is not
	Used       Formula          // how many Units there really were, where the value has what was wanted as well; nil = as many as the value says
	Units      string           // a plural, such as "threads"
	Stands     bool             // a wait with this reason is a finding also where those who are waited for compute
	At         string           // where it is tested below its parent: "whole", "object", or "" for wherever its parent holds
	Refine     []grid.Hierarchy // grid.Defined stands for the hierarchies of Defined
	Defined    []string         // hierarchies that texts define
	Suppress   []string         // paths that are never tested, such as "/Code/libc.so.6"
	Expand     string           // what follows when it is true: "why", "where" or "whyAndWhere" (the default)
	Metrics    []string         // metrics that the test reads at the node's focus, in order of first use
	Global     []string         // subset of Metrics that are read at the whole program instead (written METRIC@"/")
	Kept       bool             // the kernel keeps all of Metrics at the whole program: a test there puts no probe into it
}

// Along lists the names of the hierarchies along which the hypothesis is refined: fixed ones, then those that texts define.
func (h *Hypothesis) Along() []string {
	var out []string
	for _, r := range h.Refine {
		if r != grid.Defined {
			out = append(out, r.String())
		}
	}
	return append(out, h.Defined...)
}

// Holds is the answer of the test; false where the test does not apply.
func (h *Hypothesis) Holds(get func(metric string) float64) bool {
	return (h.Given == nil || h.Given.Holds(get)) && h.Comparison.Holds(get)
}
