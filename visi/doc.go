// Package visi is what a visualisation needs. Here are plots as text cells: sparklines, bars, line plots of braille dots
// or ASCII, heat maps, axes, and values with SI units. They take plain numbers, where NaN is a gap (time for which
// nothing is known), and give strings without colour or position, so that a screen, a log or a pipe can use them.
//
// It imports grid and helpers only; it does not know who measures or who searches. The functions of the plots are pure
// and may be called from any goroutine. They never panic: sizes below 1 give empty results, sizes above 4,096 cells are
// cut, infinite values are gaps.
package visi

import "culprit/internal/safetext"

// maxCells bounds width and height of every plot.
const maxCells = 4096

// Escape makes any text from a target safe for a terminal, in at most max cells; see safetext.CleanMax.
func Escape(s string, max int) string { return safetext.CleanMax(s, max) }

// cells brings a size into its bounds.
func cells(n int) int { return min(max(n, 0), maxCells) }
