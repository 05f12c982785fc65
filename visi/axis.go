package visi

import (
	"strings"

	"culprit/internal/safetext"
)

// YAxis labels the rows of a plot of that height, from hi at the top to lo at the bottom: the first, the last and the
// middle one. All labels have the same width in cells.
func YAxis(lo, hi float64, height int, unit string) []string {
	labels := make([]string, cells(height))
	wide := 0
	for y := range labels {
		switch {
		case y == 0 && height > 1:
			labels[y] = FormatValue(hi, unit)
		case y == len(labels)-1:
			labels[y] = FormatValue(lo, unit)
		case y == len(labels)/2 && height >= 5:
			at := 1 - float64(y)/float64(height-1)
			labels[y] = FormatValue(lo*(1-at)+hi*at, unit)
		}
		wide = max(wide, safetext.Width(labels[y]))
	}
	for y := range labels {
		labels[y] = strings.Repeat(" ", wide-safetext.Width(labels[y])) + labels[y]
	}
	return labels
}

// TimeAxis labels the time from start to end (s since session start) in exactly width cells: both ends, and the middle
// if there is room.
func TimeAxis(start, end float64, width int) string {
	width = cells(width)
	left, middle, right := FormatTime(start), FormatTime(start+(end-start)/2), FormatTime(end)
	if len(left)+len(right)+1 > width {
		return pad(safetext.CleanMax(right, width), width)
	}
	line := []byte(strings.Repeat(" ", width))
	copy(line, left)
	copy(line[width-len(right):], right)
	at := (width - len(middle)) / 2
	if at >= len(left)+2 && at+len(middle)+2 <= width-len(right) {
		copy(line[at:], middle)
	}
	return string(line)
}

// pad fills with spaces on the left.
func pad(s string, width int) string {
	return strings.Repeat(" ", max(0, width-safetext.Width(s))) + s
}

// A Chart is a line plot with axes.
type Chart struct {
	Series     [][]float64 // equally spaced over Start..End; NaN is a gap
	Start, End float64     // s since session start
	Unit       string
	ASCII      bool
}

// Lines draws the chart in exactly width by height cells: the plot, labels at the left, time below. If there is too
// little room for axes (less than 20 by 3) it is the plot alone.
func (c Chart) Lines(width, height int) []string {
	width, height = cells(width), cells(height)
	lo, hi := Range(resampleAll(c.Series, 2*width)...)
	if width < 20 || height < 3 {
		return c.plot(width, height, lo, hi)
	}
	rows := height - 2
	labels := YAxis(lo, hi, rows, safetext.CleanMax(c.Unit, width/4))
	margin := safetext.Width(labels[0])
	inner := width - margin - 2
	if inner < 4 {
		return c.plot(width, height, lo, hi)
	}
	lines := c.plot(inner, rows, lo, hi)
	for y := range rows {
		tick := " │"
		if strings.TrimSpace(labels[y]) != "" {
			tick = " ┤"
		}
		lines[y] = c.text(labels[y]+tick) + lines[y]
	}
	indent := strings.Repeat(" ", margin+1)
	return append(lines, c.text(indent+"└"+strings.Repeat("─", inner)), c.text(indent+" "+TimeAxis(c.Start, c.End, inner)))
}

func (c Chart) text(s string) string {
	if c.ASCII {
		return ASCII(s)
	}
	return s
}

func (c Chart) plot(width, height int, lo, hi float64) []string {
	if c.ASCII {
		return asciiPlot(c.Series, width, height, lo, hi)
	}
	return braille(c.Series, width, height, lo, hi)
}
