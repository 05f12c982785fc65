package visi

import "strings"

// A cell of braille has 2 by 4 dots. Unicode numbers them down the left column, down the right, then the lowest two.
var brailleBits = [4][2]uint8{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

const brailleBlank = 0x2800

// Braille draws series as lines of dots, twice as fine as the cells across and four times upwards. The series share the
// scale of Range and run over the whole width; those with more points than dots are averaged. A gap interrupts the line.
// The result has height lines of exactly width cells; cells without dots are spaces.
func Braille(series [][]float64, width, height int) []string {
	lo, hi := Range(resampleAll(series, 2*cells(width))...)
	return braille(series, width, height, lo, hi)
}

func braille(series [][]float64, width, height int, lo, hi float64) []string {
	all := newDots(width, height)
	for _, values := range series {
		all.Merge(DrawDots(values, width, height, lo, hi))
	}
	return all.Lines()
}

func resampleAll(series [][]float64, n int) [][]float64 {
	out := make([][]float64, len(series))
	for i, values := range series {
		out[i] = Resample(values, n)
	}
	return out
}

// Dots are the dots of a line plot by row and cell, in the bits of braille. A screen that gives each series a colour
// draws them one by one.
type Dots [][]uint8

func newDots(width, height int) Dots {
	d := make(Dots, cells(height))
	for y := range d {
		d[y] = make([]uint8, cells(width))
	}
	return d
}

// DrawDots draws one series on a scale from lo to hi; what is outside lies on the edge.
func DrawDots(values []float64, width, height int, lo, hi float64) Dots {
	d := newDots(width, height)
	wide, high := 2*cells(width), 4*cells(height)
	if wide == 0 || high == 0 {
		return d
	}
	points := Resample(values, wide)
	px, py, connected := 0, 0, false
	for i, v := range points {
		if gap(v) {
			connected = false
			continue
		}
		x := column(i, len(points), wide)
		y := high - 1 - level(v, lo, hi, high)
		if !connected {
			px, py = x, y
		}
		d.line(px, py, x, y)
		px, py, connected = x, y, true
	}
	return d
}

// column spreads n points over the width; the first and the last are at the edges.
func column(i, n, wide int) int {
	if n < 2 {
		return 0
	}
	return i * (wide - 1) / (n - 1)
}

// line connects two dots (Bresenham).
func (d Dots) line(x0, y0, x1, y1 int) {
	dx, dy := x1-x0, y1-y0 // dx >= 0: points come from left to right
	step := 1
	if dy < 0 {
		dy, step = -dy, -1
	}
	for e := dx - dy; ; {
		d[y0/4][x0/2] |= brailleBits[y0%4][x0%2]
		if x0 == x1 && y0 == y1 {
			return
		}
		e2 := 2 * e
		if e2 > -dy {
			e -= dy
			x0++
		}
		if e2 < dx {
			e += dx
			y0 += step
		}
	}
}

// Merge adds the dots of another plot of the same size; what is outside is left out.
func (d Dots) Merge(o Dots) {
	for y := range min(len(d), len(o)) {
		for x := range min(len(d[y]), len(o[y])) {
			d[y][x] |= o[y][x]
		}
	}
}

// Rune is what to show in a cell.
func (d Dots) Rune(x, y int) rune {
	if y < 0 || y >= len(d) || x < 0 || x >= len(d[y]) || d[y][x] == 0 {
		return ' '
	}
	return brailleBlank + rune(d[y][x])
}

// Lines are the rows from the top.
func (d Dots) Lines() []string {
	out := make([]string, len(d))
	for y := range d {
		var b strings.Builder
		for x := range d[y] {
			b.WriteRune(d.Rune(x, y))
		}
		out[y] = b.String()
	}
	return out
}

// asciiMarks are the marks of the first series, the second and so on.
const asciiMarks = "*+ox#%@&"

// ASCIIPlot draws series as points, each with a mark of its own (* + o x # % @ &, then again), on the scale of Range. A
// later series covers an earlier one. The result has height lines of exactly width cells.
func ASCIIPlot(series [][]float64, width, height int) []string {
	lo, hi := Range(resampleAll(series, cells(width))...)
	return asciiPlot(series, width, height, lo, hi)
}

func asciiPlot(series [][]float64, width, height int, lo, hi float64) []string {
	width, height = cells(width), cells(height)
	rows := make([][]byte, height)
	for y := range rows {
		rows[y] = []byte(strings.Repeat(" ", width))
	}
	for s, values := range resampleAll(series, width) {
		for i, v := range values {
			if !gap(v) && height > 0 {
				rows[height-1-level(v, lo, hi, height)][column(i, len(values), width)] = asciiMarks[s%len(asciiMarks)]
			}
		}
	}
	out := make([]string, height)
	for y := range rows {
		out[y] = string(rows[y])
	}
	return out
}
