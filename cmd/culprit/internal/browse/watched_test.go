package browse

import (
	"math"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"

	"culprit/session"
	"culprit/session/report"
)

func watching(t *testing.T) session.Snapshot {
	snap := searched(t)
	latency := session.Watched{Pair: report.Pair{Metric: "find_time", Focus: report.Focus{"Code": "/Code/store.cc/Store::find(long)"}, Unit: "s/s",
		Average: 0.31, Tier: "probe", Distribution: &report.Distribution{Unit: "s", Count: 1000, Mean: 0.0023, P50: 1.1e-3, P90: 1.1e-3,
			P99: 10.2e-3, P999: 52e-3, Max: 57.3e-3, Step: 1e-9,
			Buckets: []report.Bucket{{Low: 917504e-9, High: 1048576e-9, Count: 900}, {Low: 8388608e-9, High: 10485760e-9, Count: 90}, {Low: 50331648e-9, High: 58720256e-9, Count: 10}}}}}
	for i := range 60 {
		latency.Recent = append(latency.Recent, 0.3+0.2*math.Sin(float64(i)/5))
	}
	nan := report.Missing(math.NaN())
	snap.Watched = []session.Watched{latency,
		{Pair: report.Pair{Metric: "cpu", Average: nan, Tier: "kernel", Unit: "CPUs"}},
		{Pair: report.Pair{Metric: "calls", Error: "refused: too short", Average: nan}},
		{Pair: report.Pair{Metric: "sizes", Average: 3, Tier: "probe", Unit: "B/s", Distribution: &report.Distribution{}}, Recent: []float64{1, math.NaN()}}}
	return snap
}

// TestWatchedScreen: screen 3 shows the metrics of --watch; without any it says so, and the footer does not offer it.
func TestWatchedScreen(t *testing.T) {
	for _, size := range []struct {
		name string
		w, h int
		opts Options
	}{{"80x24", 80, 24, Options{}}, {"40x10", 40, 10, Options{}}, {"ascii", 80, 24, Options{Mono: true, ASCII: true}}} {
		s := newScreen(t, &fixed{snap: watching(t)}, size.w, size.h, size.opts).keys('3')
		s.golden("watched-" + size.name)
		if size.opts.ASCII {
			s.onlyASCII()
		}
		s.keys(tcell.KeyEnd)
		if !strings.Contains(s.text(), "no values") {
			t.Errorf("%s: the end cannot be reached:\n%s", size.name, s.text())
		}
		if s.keys('1'); strings.Contains(s.text(), "find_time") || !strings.Contains(s.text(), "cache_lock") {
			t.Errorf("%s: 1 does not lead back:\n%s", size.name, s.text())
		}
	}
	none := newScreen(t, &fixed{snap: searched(t)}, 80, 24, Options{}).keys('3').text()
	if !strings.Contains(none, "Nothing is watched") || strings.Contains(none, "3 Watched") {
		t.Error(none)
	}
	for _, size := range [][2]int{{1, 1}, {3, 2}, {10, 3}, {500, 100}} {
		newScreen(t, &fixed{snap: watching(t)}, size[0], size[1], Options{}).keys('3', tcell.KeyPgDn, tcell.KeyEnd, tcell.KeyEnter, 'x').text()
	}
}

// TestSamplesAreMarked: that a target is only looked at stands in the header, and the error of an estimate beside it.
func TestSamplesAreMarked(t *testing.T) {
	snap := searched(t)
	snap.Watched = []session.Watched{{Pair: report.Pair{Metric: "io_wait", Average: 0.31, Uncertainty: 0.02, Tier: "sample", Unit: "s/s"}},
		{Pair: report.Pair{Metric: "cpu", Average: 1, Uncertainty: report.Missing(math.NaN()), Tier: "kernel", Unit: "CPUs"}}}
	s := newScreen(t, &fixed{snap: snap}, 80, 24, Options{}).keys('3')
	if text := s.text(); strings.Contains(text, "by samples") || !strings.Contains(text, "average 31.0 % +- 2.0 % (sample)") || strings.Count(text, "+-") != 1 {
		t.Error(text)
	}
	snap.Targets[1].Backend = "sample"
	if text := newScreen(t, &fixed{snap: snap}, 80, 24, Options{}).keys('1').text(); !strings.Contains(text, "by samples") {
		t.Error(text)
	}
}

// TestWatchedGauge: of a gauge stands there what it is now, its mean and its extremes, and what 0 means.
func TestWatchedGauge(t *testing.T) {
	snap := searched(t)
	gauge := report.Pair{Metric: "queue_length", Average: 3.25, Min: -2, Max: 19, Tier: "probe", Unit: "items", Gauge: &report.Gauge{Last: 7, SinceAttach: true}}
	unset := gauge
	unset.Average = report.Missing(math.NaN())
	snap.Watched = []session.Watched{{Pair: gauge, Recent: []float64{1, 5}}, {Pair: unset}}
	text := newScreen(t, &fixed{snap: snap}, 120, 24, Options{}).keys('3').text()
	if !strings.Contains(text, "now 7 items, mean 3.25 items, min -2 items, max 19 items (probe, since the attach)") || !strings.Contains(text, "no value yet") {
		t.Error(text)
	}
}
