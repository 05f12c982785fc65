// Package foci is what a search has to know of foci beside what they are: those that cover one, and whether one is below a list of paths.
// It is pure and imports grid alone.
package foci
