// Package explain writes what a search found in sentences for people: numbers, places in a program, evidence, and what a
// bottleneck is. It is pure: the same input gives the same text.
//
// It imports grid and consultant/decide, and knows nothing of nodes or of the search. Names come from the target, so all
// of them are cut and made printable here. Functions may be called from any goroutine.
package explain
