package bins

import (
	"math"

	"culprit/consultant/decide"
	"culprit/grid"
)

const (
	shortest = 0.15 // s; a reading that is shorter is joined with the next: it comes from a change, not from a pass
	nearly   = 1e-6 // s; times that differ less are the same
)

// Rows puts readings of several pairs side by side that began at a session time or later. Each row is one reading of the pair that is read least often, or
// some of them where they are short; of the others it has the average over the same time. What is not known of all pairs is left out. next is where the rows
// that come later begin.
func Rows(all [][]grid.Interval, from float64) (rows []decide.Bin, next float64) {
	edges := edgesOf(all, from)
	if len(edges) == 0 {
		return nil, from
	}
	at := edges[0]
	for _, e := range edges[1:] {
		if e < at+shortest {
			continue
		}
		row := decide.Bin{Start: at, End: e, Values: make([]float64, len(all))}
		known := true
		for i, list := range all {
			row.Values[i] = average(list, at, e)
			known = known && !math.IsNaN(row.Values[i])
		}
		if at = e; known {
			rows = append(rows, row)
		}
	}
	return rows, at
}

// edgesOf are the times between which there are rows, the first of them where all pairs are known; none if there is no such time, or nothing after it.
func edgesOf(all [][]grid.Interval, from float64) (edges []float64) {
	begin, until := from, math.Inf(1)
	for _, list := range all {
		if len(list) == 0 {
			return nil
		}
		begin, until = max(begin, startOf(list, from)), min(until, list[len(list)-1].End)
	}
	var rarest []grid.Interval
	for _, list := range all {
		if n := inside(list, begin, until); rarest == nil || len(n) < len(rarest) {
			rarest = n
		}
	}
	if len(rarest) == 0 {
		return nil
	}
	edges = append(edges, max(begin, rarest[0].Start))
	for _, v := range rarest {
		if v.Start > edges[len(edges)-1]+nearly {
			edges = append(edges, v.Start)
		}
		edges = append(edges, v.End)
	}
	return edges
}

// startOf is where the first interval begins that does not begin before a time.
func startOf(list []grid.Interval, from float64) float64 {
	for _, v := range list {
		if v.Start >= from-nearly {
			return v.Start
		}
	}
	return math.Inf(1)
}

// inside are the intervals that end after a time and not after another.
func inside(list []grid.Interval, begin, until float64) []grid.Interval {
	for len(list) > 0 && list[0].End <= begin+nearly {
		list = list[1:]
	}
	n := 0
	for n < len(list) && list[n].End <= until+nearly {
		n++
	}
	return list[:n]
}

// average is the average over (a, b]; NaN if a part of it is not known.
func average(list []grid.Interval, a, b float64) float64 {
	sum, known := 0.0, 0.0
	for _, v := range list {
		if part := min(v.End, b) - max(v.Start, a); part > 0 {
			sum, known = sum+v.Value*part, known+part
		}
	}
	if known < b-a-nearly {
		return math.NaN()
	}
	return sum / known
}
