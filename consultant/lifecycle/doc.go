// Package lifecycle has the states of a node of the search history graph, the one table of what leads from one to another, and which
// state an error of the grid means.
package lifecycle
