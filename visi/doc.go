// Package visi is what a visualisation needs. Today it has plots as text: sparklines, bars, line plots of braille dots or ASCII,
// heat maps, axes, and values with SI units. They take plain numbers and return strings without colour or position, so that a
// screen, a log or a pipe can use them. NaN is a gap: a time for which nothing is known.
//
// It imports grid and helpers only. It must not know who measures or who searches. The functions are pure and may be called from
// any goroutine. They never panic: a size below 1 gives an empty result, a size above 4,096 cells is cut, infinite values are gaps.
package visi

import "culprit/internal/safetext"

// maxCells bounds width and height of every plot.
const maxCells = 4096

// Escape makes any text from a target safe for a terminal, in at most max cells; see safetext.CleanMax.
func Escape(s string, max int) string { return safetext.CleanMax(s, max) }

// cells brings a size into its bounds.
func cells(n int) int { return min(max(n, 0), maxCells) }
