package browse

import (
	"math"
	"strings"

	"culprit/consultant"
	"culprit/session"
	"culprit/session/report"
)

// watchedLines is what --watch asked for: each pair with its values over time, and its distribution if it has one.
func (a *app) watchedLines(w int) []line {
	if len(a.snap.Watched) == 0 {
		return []line{text(a.theme.bold(), " Nothing is watched: name metrics with --watch.", 0)}
	}
	var out []line
	for _, one := range a.snap.Watched {
		for _, part := range wrap(one.Metric+"@"+one.Focus.String(), w-2) {
			out = append(out, text(a.theme.bold(), " "+part, 0))
		}
		for _, part := range wrap(watchedText(one), w-4) {
			out = append(out, text(a.theme.plain(), "   "+part, 0))
		}
		if room := w - 4; len(one.Recent) > 1 && room >= 8 {
			out = append(out, text(a.theme.plain(), "   "+a.spark(one.Recent, min(room, 60)), 0))
		}
		if one.Error == "" && one.Distribution != nil {
			out = append(out, a.distributionLines(one.Distribution, w)...)
		}
		out = append(out, line{})
	}
	return out
}

// distributionLines is what a distribution says in words, wrapped, and its chart.
func (a *app) distributionLines(d *report.Distribution, w int) (out []line) {
	lines := d.Lines()
	for _, part := range wrap(lines[0], w-4) {
		out = append(out, text(a.theme.plain(), "   "+part, 0))
	}
	for _, l := range lines[1:] {
		out = append(out, text(a.theme.state(consultant.True), cut("   "+l, w, a.theme.cutMark()), 0))
	}
	return out
}

// watchedText is the last value, the average and where they come from.
func watchedText(one session.Watched) string {
	if one.Error != "" {
		return "not measured: " + one.Error
	}
	var parts []string
	if one.Gauge != nil {
		return gaugeText(&one)
	}
	if n := len(one.Recent); n > 0 && !math.IsNaN(one.Recent[n-1]) {
		parts = append(parts, "now "+report.Quantity(one.Recent[n-1], one.Unit))
	}
	if avg := float64(one.Average); !math.IsNaN(avg) {
		parts = append(parts, "average "+report.Quantity(avg, one.Unit))
		if u := float64(one.Uncertainty); one.Tier == "sample" && !math.IsNaN(u) {
			parts[len(parts)-1] += " +- " + report.Quantity(u, one.Unit)
		}
	}
	if len(parts) == 0 {
		return "no value yet"
	}
	return strings.Join(parts, ", ") + " (" + one.Tier + ")"
}

// gaugeText is the last value of a gauge, its mean by time and its extremes, and where they come from.
func gaugeText(one *session.Watched) string {
	if math.IsNaN(float64(one.Average)) {
		return "no value yet"
	}
	var parts []string
	for _, f := range []struct {
		name  string
		value report.Missing
	}{{"now", one.Gauge.Last}, {"mean", one.Average}, {"min", one.Min}, {"max", one.Max}} {
		parts = append(parts, f.name+" "+report.Quantity(float64(f.value), one.Unit))
	}
	return strings.Join(parts, ", ") + " (" + one.Origin() + ")"
}
