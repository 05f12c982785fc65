package visi

import (
	"math"
	"strings"
)

const (
	barParts  = "▏▎▍▌▋▊▉"
	heatParts = " ░▒▓█"
	heatASCII = " .:*#"
	heatGap   = '·'
	gapASCII  = '?'
)

// Bar draws value as a horizontal bar of which max fills all width cells, in steps of an eighth of a cell (of a whole
// one in ASCII). A positive value shows at least the smallest step. What is longer than max is full and ends with ">";
// a gap or a negative value is empty. The result takes exactly width cells.
func Bar(value, max float64, width int, ascii bool) string {
	width = cells(width)
	if width == 0 || gap(value) || value <= 0 || !(max > 0) {
		return strings.Repeat(" ", width)
	}
	full, steps := "█", 8
	if ascii {
		full, steps = "#", 1
	}
	if value > max {
		return strings.Repeat(full, width-1) + ">"
	}
	n := int(math.Round(share(value, 0, max) * float64(width*steps)))
	if n == 0 {
		n = 1
	}
	bar, used := strings.Repeat(full, n/steps), n/steps
	if rest := n % steps; rest > 0 {
		bar += string([]rune(barParts)[rest-1])
		used++
	}
	return bar + strings.Repeat(" ", width-used)
}

// HeatRow draws one row of a heat map: each value as one cell, darker for more, where max is darkest. More values than
// cells are averaged, fewer stand at the left. A gap is "·" ("?" in ASCII), so that it differs from 0.
func HeatRow(values []float64, max float64, width int, ascii bool) string {
	width = cells(width)
	shades, missing := []rune(heatParts), heatGap
	if ascii {
		shades, missing = []rune(heatASCII), gapASCII
	}
	points := Resample(values, width)
	var b strings.Builder
	for i := range width {
		switch {
		case i >= len(points):
			b.WriteByte(' ')
		case gap(points[i]):
			b.WriteRune(missing)
		default:
			b.WriteRune(shades[level(points[i], 0, max, len(shades))])
		}
	}
	return b.String()
}
