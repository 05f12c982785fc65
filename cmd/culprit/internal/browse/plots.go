package browse

import (
	"math"

	"culprit/consultant"
	"culprit/visi"
)

// severity is a bar for a share from 0 to 1.
func (a *app) severity(share float64, w int) string { return visi.Bar(share, 1, w, a.theme.ascii) }

// spark is the latest values in one line of w cells; a cell stands for one or several values.
func (a *app) spark(values []float64, w int) string {
	return visi.Sparkline(visi.Resample(values, w), w, a.theme.ascii)
}

// plotLines draws the values of a node over time, with its threshold as a second series.
func (a *app) plotLines(e evidence, w, h int) []line {
	threshold := make([]float64, len(e.Values))
	for i := range threshold {
		threshold[i] = math.NaN()
		if !math.IsNaN(e.Threshold) && !math.IsInf(e.Threshold, 0) {
			threshold[i] = e.Threshold
		}
	}
	values := e.Values
	if len(values) == 1 { // a line needs two ends
		values, threshold = append(values, values[0]), append(threshold, threshold[0])
	}
	c := visi.Chart{
		Series: [][]float64{values, threshold}, Unit: e.Unit, Start: e.At[0], End: e.At[len(e.At)-1], ASCII: a.theme.ascii,
	}
	out := []line{{0, []span{{"  value over time", a.theme.state(consultant.True)}, {", straight line: threshold", a.theme.plain()}}}}
	for _, s := range c.Lines(w, h-1) {
		out = append(out, text(a.theme.state(consultant.True), " "+s, 0))
	}
	return out
}
