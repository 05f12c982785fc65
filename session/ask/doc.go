// Package ask answers from a report: what the search found at a focus, what it ruled out there, what it never measured, and which of its
// answers would be others with other tunable constants.
//
// It reads reports and the library of PCL only: nothing is asked of a target. It must not import the search or a daemon. Its values belong to
// one goroutine.
package ask
