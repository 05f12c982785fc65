package visi

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"culprit/internal/safetext"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var nan = math.NaN()

func sine(n int, amplitude, offset float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = offset + amplitude*math.Sin(float64(i)*4*math.Pi/float64(n))
	}
	return out
}

func withGap(values []float64, from, to int) []float64 {
	out := append([]float64(nil), values...)
	for i := from; i < to; i++ {
		out[i] = nan
	}
	return out
}

// TestGolden draws every plot; the files are for reading. -update rewrites them.
func TestGolden(t *testing.T) {
	wave, other := sine(1000, 1, 1), sine(90, 0.4, 0.8)
	plots := map[string][]string{
		"braille-one":   Braille([][]float64{wave}, 40, 8),
		"braille-two":   Braille([][]float64{withGap(wave, 300, 500), other}, 60, 10),
		"braille-sign":  Braille([][]float64{sine(50, 3, 0)}, 30, 6),
		"ascii-two":     ASCIIPlot([][]float64{withGap(wave, 300, 500), other}, 60, 10),
		"chart":         Chart{Series: [][]float64{withGap(wave, 0, 100)}, Start: 0.4, End: 200.4, Unit: "calls/s"}.Lines(72, 12),
		"chart-ascii":   Chart{Series: [][]float64{sine(100, 2e-4, 2e-4)}, Start: 3590, End: 7000, Unit: "s", ASCII: true}.Lines(60, 9),
		"chart-small":   Chart{Series: [][]float64{wave}, Unit: "CPUs"}.Lines(19, 4),
		"chart-hostile": Chart{Series: [][]float64{{1, math.Inf(1), 2}}, End: math.Inf(1), Unit: "\x1b[2J\u202e"}.Lines(40, 5),
		"lines": {
			Sparkline(wave, 40, false), Sparkline(wave, 40, true), Sparkline(withGap(wave, 300, 500), 40, false),
			Sparkline([]float64{0, 1, nan, 7, 8}, 8, false), Sparkline([]float64{0, 0, 0}, 3, false), Sparkline([]float64{-1, 0, 1}, 3, true),
			Bar(0.5, 1, 10, false), Bar(0.55, 1, 10, false), Bar(1e-9, 1, 10, false), Bar(1, 1, 10, false), Bar(2, 1, 10, false), Bar(0.55, 1, 10, true), Bar(2, 1, 10, true),
			HeatRow([]float64{0, 1, 2, 3, 4, nan, 9}, 4, 8, false), HeatRow([]float64{0, 1, 2, 3, 4, nan, 9}, 4, 8, true),
			TimeAxis(0, 200, 40), TimeAxis(0, 12, 17), TimeAxis(0, 4000, 5), TimeAxis(0, 4000, 10),
		},
	}
	for name, lines := range plots {
		golden(t, name, lines)
	}
}

func golden(t *testing.T, name string, lines []string) {
	t.Helper()
	got := strings.Join(lines, "|\n") + "|\n" // the bar shows spaces at the end
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; run go test -update once and read what it wrote", err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
}

func TestSparkline(t *testing.T) {
	tests := []struct {
		values []float64
		width  int
		ascii  bool
		want   string
	}{
		{[]float64{0, 1, 2, 3, 4, 5, 6, 7}, 8, false, "▁▂▃▄▅▆▇█"},
		{[]float64{0, 1, 2, 3, 4, 5, 6, 7}, 8, true, "_.-:=+*#"},
		{[]float64{0, 1, 2, 3, 4, 5, 6, 7}, 4, false, "▁▄▆█"},
		{[]float64{1, nan, 1}, 5, false, "█ █  "},
		{[]float64{nan, nan, 4, nan}, 2, false, " █"},
		{nil, 3, false, "   "},
		{[]float64{1}, 0, false, ""},
		{[]float64{math.MaxFloat64, -math.MaxFloat64, 0}, 3, false, "█▁▅"},
	}
	for _, tt := range tests {
		if got := Sparkline(tt.values, tt.width, tt.ascii); got != tt.want {
			t.Errorf("%v in %d: %q, want %q", tt.values, tt.width, got, tt.want)
		}
	}
}

func TestDots(t *testing.T) {
	d := DrawDots([]float64{0, 1, 2, 3}, 2, 1, 0, 3)
	if got := d.Lines(); len(got) != 1 || got[0] != "⡠⠊" {
		t.Errorf("a rising line is %q", got)
	}
	flat := DrawDots([]float64{0, 0, 0, 0}, 2, 1, 0, 3)
	if got := flat.Lines()[0]; got != "⣀⣀" {
		t.Errorf("a line at the bottom is %q", got)
	}
	if got := DrawDots([]float64{1, nan, nan, 1}, 2, 1, 0, 1).Lines()[0]; got != "⠁⠈" {
		t.Errorf("a line with a gap is %q", got)
	}
	if d.Rune(-1, 0) != ' ' || d.Rune(0, 9) != ' ' || len(DrawDots(nil, 0, 5, 0, 1).Lines()) != 5 {
		t.Error("edges are wrong")
	}
}

func TestFormatValue(t *testing.T) {
	tests := []struct {
		v    float64
		unit string
		want string
	}{
		{1.5e6, "B/s", "1.50 MB/s"},
		{320e-6, "s", "320 µs"},
		{0.00032049, "s", "320 µs"},
		{12.345, "s", "12.3 s"},
		{1e-12, "s", "0.00100 ns"},
		{1333333.3, "calls/s", "1.33 M calls/s"},
		{40000000, "calls", "40 M calls"},
		{999.9, "calls/s", "1.00 k calls/s"},
		{999.4, "calls/s", "999 calls/s"},
		{0.72, "CPUs", "0.720 CPUs"},
		{0.00004, "CPUs", "4.00e-05 CPUs"},
		{2, "threads", "2 threads"},
		{0.7249, "fraction", "72.5 %"},
		{0.5, "s/s", "0.500 s/s"},
		{-1500, "B", "-1.50 kB"},
		{0, "B", "0 B"},
		{512, "", "512"},
		{5e24, "B", "5.00e+06 EB"},
		{nan, "B", "-"},
		{math.Inf(-1), "B", "-Inf B"},
		{math.Inf(1), "", "Inf"},
	}
	for _, tt := range tests {
		if got := FormatValue(tt.v, tt.unit); got != tt.want {
			t.Errorf("%v %s: %q, want %q", tt.v, tt.unit, got, tt.want)
		}
	}
	for s, want := range map[float64]string{0: "0.0 s", 59.96: "1m00s", 200: "3m20s", 3599.9: "1h00m", 3900: "1h05m", -61: "-1m01s", 1e300: "1.0e+300 s", nan: "-"} {
		if got := FormatTime(s); got != want {
			t.Errorf("time %v: %q, want %q", s, got, want)
		}
	}
	if got := ASCII(FormatValue(1e-6, "s")); got != "1 us" {
		t.Errorf("in ASCII %q", got)
	}
	if got := Escape("a\x1b[0m", 5); got != "a…" {
		t.Errorf("escaped %q", got)
	}
}

// FuzzPlots checks that every plot takes exactly the cells that it was given, whatever it draws.
func FuzzPlots(f *testing.F) {
	f.Add(10, 3, 1.0, -2.0, 1e300, 7, false)
	f.Add(-1, 0, math.Inf(1), nan, 0.0, 0, true)
	f.Add(80, 24, -math.MaxFloat64, math.MaxFloat64, 5e-324, 300, true)
	f.Fuzz(func(t *testing.T, width, height int, a, b, c float64, n int, ascii bool) {
		width, height = width%200, height%60
		values := []float64{a, b, c, a, nan, b}
		for range n % 500 {
			values = append(values, values[len(values)-5]/2)
		}
		wide, high := max(width, 0), max(height, 0)
		exact := func(what string, lines []string, height int) {
			if len(lines) != height {
				t.Fatalf("%s: %d lines, want %d", what, len(lines), height)
			}
			for _, l := range lines {
				if n := len([]rune(l)); n != wide {
					t.Fatalf("%s: %q has %d cells, want %d", what, l, n, wide)
				}
			}
		}
		exact("sparkline", []string{Sparkline(values, width, ascii)}, 1)
		exact("bar", []string{Bar(a, b, width, ascii)}, 1)
		exact("heat", []string{HeatRow(values, c, width, ascii)}, 1)
		exact("time", []string{TimeAxis(a, b, width)}, 1)
		exact("braille", Braille([][]float64{values, {c}}, width, height), high)
		exact("ascii", ASCIIPlot([][]float64{values, {c}}, width, height), high)
		chart := Chart{Series: [][]float64{values, nil}, Start: a, End: b, Unit: "calls/s", ASCII: ascii}.Lines(width, height)
		exact("chart", chart, high)
		for _, l := range chart {
			if ascii && safetext.Width(l) != len(l) {
				t.Fatalf("%q is not ASCII", l)
			}
		}
		FormatValue(a, "s")
	})
}
