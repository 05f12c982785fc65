// Package check reads texts of PCL, checks what they define, and makes a pcl.Library of it. What is wrong becomes a Problem with its
// place; a definition with an error is left out, and the rest of the text is there. Warnings finds what is sound and most likely not
// meant.
//
// A definition goes through a file of this package that is named after it: list.go, constraint.go, metric.go, hierarchy.go,
// hypothesis.go, expect.go. Code between (* and *) goes through code.go, call.go and expression.go, tests of hypotheses through
// formula.go.
//
// It imports grid, pcl, pcl/lib, pcl/syntax and pcl/types; it knows nothing of targets and of how plans are made. Text is not
// trusted: what it costs is bounded (bounds.go). Functions may be called from any goroutine; each loading has its own builder.
package check
