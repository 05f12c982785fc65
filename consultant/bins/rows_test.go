package bins

import (
	"math"
	"slices"
	"testing"

	"culprit/consultant/decide"
	"culprit/grid"
)

// every makes readings of one width with the values.
func every(start, width float64, values ...float64) (list []grid.Interval) {
	for i, v := range values {
		at := start + float64(i)*width
		if !math.IsNaN(v) {
			list = append(list, grid.Interval{Start: at, End: start + float64(i+1)*width, Value: v})
		}
	}
	return list
}

func TestRows(t *testing.T) {
	gap := math.NaN()
	row := func(start, end float64, values ...float64) decide.Bin {
		return decide.Bin{Start: start, End: end, Values: values}
	}
	for _, c := range []struct {
		name string
		all  [][]grid.Interval
		from float64
		want []decide.Bin
		next float64
	}{
		{"together", [][]grid.Interval{every(0, 1, 1, 2, 3), every(0, 1, 10, 20, 30)}, 0, []decide.Bin{row(0, 1, 1, 10), row(1, 2, 2, 20), row(2, 3, 3, 30)}, 3},
		{"the rest later", [][]grid.Interval{every(0, 1, 1, 2, 3), every(0, 1, 10, 20)}, 1, []decide.Bin{row(1, 2, 2, 20)}, 2},
		{"one is read half as often", [][]grid.Interval{every(0, 1, 1, 3, 5, 7, 9), every(0, 2, 10, 20)}, 0, []decide.Bin{row(0, 2, 2, 10), row(2, 4, 6, 20)}, 4},
		{"from within a reading", [][]grid.Interval{every(0, 1, 1, 2, 3), every(0, 1, 10, 20, 30)}, 0.5, []decide.Bin{row(1, 2, 2, 20), row(2, 3, 3, 30)}, 3},
		{"one begins later", [][]grid.Interval{every(0, 1, 1, 2, 3), every(1, 1, 20, 30)}, 0, []decide.Bin{row(1, 2, 2, 20), row(2, 3, 3, 30)}, 3},
		{"a gap in one", [][]grid.Interval{every(0, 1, 1, 2, 3, 4), every(0, 1, 10, gap, 30, 40)}, 0, []decide.Bin{row(0, 1, 1, 10), row(2, 3, 3, 30), row(3, 4, 4, 40)}, 4},
		{"at other times", [][]grid.Interval{every(0, 2, 2, 4, 6), every(1, 2, 10, 20)}, 0, []decide.Bin{row(1, 2, 2, 10), row(2, 4, 4, 15)}, 4},
		{"short ones are joined", [][]grid.Interval{every(0, 0.1, 1, 3, 5, 7, 9)}, 0, []decide.Bin{row(0, 0.2, 2), row(0.2, 0.4, 6)}, 0.4},
		{"nothing of one", [][]grid.Interval{every(0, 1, 1, 2), nil}, 0, nil, 0},
		{"nothing new", [][]grid.Interval{every(0, 1, 1, 2)}, 2, nil, 2},
		{"of nobody", nil, 3, nil, 3},
	} {
		rows, next := Rows(c.all, c.from)
		same := slices.EqualFunc(rows, c.want, func(a, b decide.Bin) bool {
			near := func(x, y float64) bool { return math.Abs(x-y) < 1e-9 }
			return near(a.Start, b.Start) && near(a.End, b.End) && slices.EqualFunc(a.Values, b.Values, near)
		})
		if !same || math.Abs(next-c.next) > 1e-9 {
			t.Errorf("%s: %v, next %g, want %v, next %g", c.name, rows, next, c.want, c.next)
		}
	}
}
