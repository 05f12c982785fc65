package grid

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
)

func TestHistogramSpread(t *testing.T) {
	nan := math.NaN()
	tests := []struct {
		name  string
		style Style
		adds  [][3]float64
		bins  []float64
		rates []float64
	}{
		{"one bin", EventCounter, [][3]float64{{0, 0.2, 10}}, []float64{10}, []float64{50}},
		{"proportion", EventCounter, [][3]float64{{0.1, 0.3, 1}}, []float64{0.5, 0.5}, []float64{5, 5}},
		{"remainder in the last", EventCounter, [][3]float64{{0, 0.6, 1}},
			[]float64{349525.0 / (1 << 20), 349526.0 / (1 << 20), 349525.0 / (1 << 20)}, nil},
		{"missing is not zero", EventCounter, [][3]float64{{0.2, 0.4, 0}, {0.8, 1, 2}}, []float64{nan, 0, nan, nan, 2}, []float64{nan, 0, nan, nan, 10}},
		{"edges of bins despite rounding", EventCounter, [][3]float64{{0.6, 0.8, 3}}, []float64{nan, nan, nan, 3}, nil},
		{"a moment", EventCounter, [][3]float64{{0.5, 0.5, 3}}, []float64{nan, nan, 3}, []float64{nan, nan, 15}},
		{"a moment at an edge belongs to the bin before", EventCounter, [][3]float64{{0.4, 0.4, 3}}, []float64{nan, 3}, nil},
		{"before the start", EventCounter, [][3]float64{{-0.2, 0.2, 10}, {-2, -1, 5}, {-1, 0, 5}}, []float64{5}, []float64{25}},
		{"not numbers", EventCounter, [][3]float64{{0, 0.2, nan}, {0, math.Inf(1), 1}, {0, 0.2, math.Inf(-1)}, {0, nan, 1}, {0, 2e9, 1}}, nil, nil},
		{"partly known", EventCounter, [][3]float64{{0.1, 0.2, 5}}, []float64{5}, []float64{50}},
		{"values", SampledFunction, [][3]float64{{0, 0.3, 4}, {0.3, 0.4, 8}}, []float64{4, 6}, []float64{4, 6}},
		{"momentary values", SampledFunction, [][3]float64{{0.1, 0.1, 4}, {0.3, 0.3, 8}}, []float64{6, 8}, nil},
	}
	for _, tt := range tests {
		h := NewHistogram(0, tt.style)
		for _, a := range tt.adds {
			h.Add(a[0], a[1], a[2])
		}
		if got := h.Bins(); !near(got, tt.bins, 1e-12) {
			t.Errorf("%s: bins %v, want %v", tt.name, got, tt.bins)
		}
		if got := h.Rates(); tt.rates != nil && !near(got, tt.rates, 1e-9) {
			t.Errorf("%s: rates %v, want %v", tt.name, got, tt.rates)
		}
	}
}

func TestHistogramReads(t *testing.T) {
	h := NewHistogram(10, EventCounter)
	if !math.IsNaN(h.Current()) || !math.IsNaN(h.Average(0, 100)) || !math.IsNaN(h.Max()) || h.Sum() != 0 || h.FilledUntil() != 10 || len(h.Bins()) != 0 {
		t.Error("an empty histogram has values")
	}
	h.Add(10, 10.2, 10)
	h.Add(10.2, 10.4, 20)
	h.Add(11, 11.2, 60)
	h.Add(11.2, 11.25, 1)
	s := h.Stats(0, 100)
	want := Stats{Sum: 91, Average: 91 / 0.65, Min: 50, Max: 300, Covered: 0.65, Bins: 4}
	if !nearly(s.Sum, want.Sum, 0) || !nearly(s.Average, want.Average, 1e-9) || !nearly(s.Min, 50, 1e-9) || !nearly(s.Max, 300, 1e-9) || !nearly(s.Covered, 0.65, 1e-9) || s.Bins != 4 {
		t.Errorf("got %+v, want %+v", s, want)
	}
	if got := h.Current(); !nearly(got, 300, 1e-9) { // the last bin is known for a quarter only
		t.Errorf("current %v, want 300", got)
	}
	if got := h.SumIn(10.1, 10.3); !nearly(got, 15, 1e-9) {
		t.Errorf("sum in half of two bins %v, want 15", got)
	}
	if got := h.SumIn(10.9, 11.25); !nearly(got, 61, 1e-9) { // all that the last bin has so far
		t.Errorf("sum up to now %v, want 61", got)
	}
	if got := h.Average(10.4, 11); !math.IsNaN(got) {
		t.Errorf("average of nothing %v", got)
	}
	if got := h.Average(10.2, 11.1); !nearly(got, 50/0.3, 1e-9) {
		t.Errorf("average leaves missing time out: %v, want %v", got, 50/0.3)
	}
	if got := h.Complete(10, 12); !near(got, []float64{50, 100, 300}, 1e-9) {
		t.Errorf("complete bins %v", got)
	}
	if got := h.Complete(10.1, 11.2); !near(got, []float64{100, 300}, 1e-9) {
		t.Errorf("complete bins %v", got)
	}
	if h.Start() != 10 || h.FilledUntil() != 11.25 || h.Width() != FinestWidth || h.Style() != EventCounter {
		t.Error("start, end, width or style is wrong")
	}
	v := NewHistogram(0, SampledFunction)
	v.Add(0, 1, 4)
	v.Add(1, 1.5, 10)
	if !nearly(v.Sum(), 9, 1e-9) || !nearly(v.Average(0, 9), 6, 1e-9) || v.Min() != 4 || v.Max() != 10 || v.Current() != 10 {
		t.Errorf("values: sum %v average %v min %v max %v current %v", v.Sum(), v.Average(0, 9), v.Min(), v.Max(), v.Current())
	}
}

func TestHistogramFold(t *testing.T) {
	h := NewHistogram(0, EventCounter)
	for i := range 1000 {
		h.Add(float64(i)*0.2, float64(i+1)*0.2, 3)
	}
	if h.Width() != 0.2 || len(h.Bins()) != 1000 {
		t.Fatalf("folded too early: %v", h.Width())
	}
	h.Add(200, 200.2, 5)
	b := h.Bins()
	if h.Width() != 0.4 || len(b) != 501 || b[0] != 6 || b[499] != 6 || b[500] != 5 {
		t.Fatalf("width %v, %d bins", h.Width(), len(b))
	}
	if h.Sum() != 3005 || h.SumIn(0, 200) != 3000 || cap(h.bins) != HistogramBins {
		t.Errorf("sum %v, first 200 s %v, room for %d", h.Sum(), h.SumIn(0, 200), cap(h.bins))
	}
	h.Fold()
	if h.Width() != 0.8 || len(h.Bins()) != 251 || h.Sum() != 3005 {
		t.Errorf("width %v, %d bins, sum %v", h.Width(), len(h.Bins()), h.Sum())
	}
	h.Add(maxTime-1, maxTime, 1)
	if h.Width() > 4*maxTime/HistogramBins || h.Sum() != 3006 {
		t.Errorf("after 31 years: width %v, sum %v", h.Width(), h.Sum())
	}
	v := NewHistogram(0, SampledFunction)
	v.Add(0, 0.2, 3)
	v.Add(0.2, 0.3, 9) // known for half a bin, so it weighs half
	v.Add(1, 1.2, 7)
	v.Fold()
	if got := v.Bins(); !near(got, []float64{5, math.NaN(), 7}, 1e-12) {
		t.Errorf("values folded to %v", got)
	}
}

func TestFoldGroup(t *testing.T) {
	var widths []float64
	g := NewFoldGroup(0, func(w float64) { widths = append(widths, w) })
	a, b := g.New(EventCounter, 0), g.New(SampledFunction, 0)
	b.Add(0, 1, 5)
	a.Add(399, 399.5, 1)
	if a.Width() != 0.4 || b.Width() != 0.4 || g.Width() != 0.4 || !reflect.DeepEqual(widths, []float64{0.4}) {
		t.Errorf("widths %v %v %v, told %v", a.Width(), b.Width(), g.Width(), widths)
	}
	c := g.New(EventCounter, 399)
	if c.Width() != 0.4 || c.Start() != 0 {
		t.Errorf("a late member has width %v", c.Width())
	}
	g.Remove(c)
	a.Fold()
	if c.Width() != 0.4 || b.Width() != 0.8 || g.Len() != 2 {
		t.Errorf("after leaving: %v, others %v, %d members", c.Width(), b.Width(), g.Len())
	}
	c.Add(0, 399, 1)
	if len(widths) != 2 {
		t.Errorf("told %v", widths)
	}
	if w := NewFoldGroup(50, nil).New(EventCounter, 1000).Width(); w != 1.6 { // 950 s need 0.95 s
		t.Errorf("first member at 950 s: width %v, want 1.6", w)
	}
	for elapsed, want := range map[float64]float64{-1: 0.2, 0: 0.2, 200: 0.2, 200.1: 0.4, 3200: 3.2, 3201: 6.4} {
		if got := WidthFor(elapsed); !nearly(got, want, 1e-12) {
			t.Errorf("width for %v s is %v, want %v", elapsed, got, want)
		}
	}
}

// TestHistogramExact: whatever the intervals and folds, counts come back exactly, from Sum and from plain addition of
// the bins; also when the total needs all of the 53 bits.
func TestHistogramExact(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for round := range 300 {
		h := NewHistogram(rnd.Float64()*10, EventCounter)
		most := int64(1) << (1 + rnd.IntN(45))
		now, want := h.Start(), int64(0)
		for range 200 {
			start := now + rnd.Float64()*rnd.Float64()
			now = start + rnd.ExpFloat64()*math.Pow(10, float64(rnd.IntN(4)-2))
			v := rnd.Int64N(most)
			h.Add(start, now, float64(v))
			want += v
		}
		plain := 0.0
		for _, b := range h.Bins() {
			if b < 0 {
				t.Fatalf("round %d: a bin of counts is %v", round, b)
			}
			if !math.IsNaN(b) {
				plain += b
			}
		}
		all := h.SumIn(math.Inf(-1), math.Inf(1))
		if h.Sum() != float64(want) || plain != float64(want) || all != float64(want) {
			t.Fatalf("round %d: sum %v, bins %v, span %v, want %d", round, h.Sum(), plain, all, want)
		}
	}
	h := NewHistogram(0, EventCounter)
	h.Add(0, 1.3, 7)
	h.Add(1.3, 700, 1<<53-10)
	if h.Sum() != 1<<53-3 {
		t.Errorf("sum %v, want %v", h.Sum(), 1<<53-3)
	}
}

// TestHistogramTimers: seconds are no multiples of the grain; the sum is that of the values to the last bit or two.
func TestHistogramTimers(t *testing.T) {
	h := NewHistogram(0, EventCounter)
	for i := range 100_000 {
		h.Add(float64(i)*0.2, float64(i+1)*0.2, 0.1)
	}
	if math.Abs(h.Sum()-10_000) > 1e-10 {
		t.Errorf("sum %.17g, want 10000", h.Sum())
	}
	if math.Abs(h.SumIn(0, 10_000)-5_000) > 1e-6 {
		t.Errorf("half of it %.17g, want 5000", h.SumIn(0, 10_000))
	}
}

// TestHistogramMixed: fractions and then counts so large that a float64 has no room for both.
func TestHistogramMixed(t *testing.T) {
	h := NewHistogram(0, EventCounter)
	h.Add(0, 1, 0.5)
	h.Add(1, 2, 0.1)
	h.Add(2, 3.1, 0.3)
	if got := h.Bins(); !nearly(got[5], 0.02, 1e-12) || !nearly(got[10], 0.3/5.5, 1e-12) || !nearly(got[15], 0.3/11, 1e-12) {
		t.Errorf("bins of a timer %v", got)
	}
	g := NewHistogram(0, EventCounter)
	g.Add(0, 1, 0.5)
	g.Add(1, 2, 1<<50)
	if got := g.Sum(); got != 1<<50+0.5 {
		t.Errorf("sum %v", got)
	}
	if got := g.SumIn(0, 1); !nearly(got, 0.5, 1e-6) {
		t.Errorf("the fraction is %v", got)
	}
}

func TestHistogramCopy(t *testing.T) {
	h := NewHistogram(0, EventCounter)
	h.Add(0, 1, 5)
	c := h.Copy()
	h.Add(1, 2, 5)
	if c.Sum() != 5 || h.Sum() != 10 || len(c.Bins()) != 5 {
		t.Errorf("copy %v, original %v", c.Sum(), h.Sum())
	}
	from := NewHistogram(0, EventCounter)
	from.Add(0, 1, 1000)
	dst := NewHistogram(0.3, EventCounter)
	from.copyRange(dst, 0.3, 0.7)
	if got := dst.Sum(); !nearly(got, 400, 1) {
		t.Errorf("copied %v of a range, want 400", got)
	}
}

// The slow twin remembers every interval, in whole milliseconds, and computes the bins when asked.
type slowHistogram struct {
	style Style
	start int64
	ivs   []interval
}

type interval struct {
	from, to int64 // ms
	value    float64
}

func (s *slowHistogram) width() int64 {
	w := int64(200)
	for _, iv := range s.ivs {
		for iv.to-s.start > w*HistogramBins {
			w *= 2
		}
	}
	return w
}

// bin returns value and covered ms of one bin.
func (s *slowHistogram) bin(i, w int64) (value float64, covered int64) {
	value = math.NaN()
	lo, hi := s.start+i*w, s.start+(i+1)*w
	for _, iv := range s.ivs {
		over := min(hi, iv.to) - max(lo, iv.from)
		if over <= 0 {
			continue
		}
		if math.IsNaN(value) {
			value = 0
		}
		if s.style == EventCounter {
			value += iv.value * float64(over) / float64(iv.to-iv.from)
		} else {
			value += iv.value * float64(over)
		}
		covered += over
	}
	if s.style == SampledFunction {
		value /= float64(covered)
	}
	return value, covered
}

// FuzzHistogram compares with the slow twin. Each 6 bytes are one interval: gap, length, value, power of two of it.
func FuzzHistogram(f *testing.F) {
	f.Add(false, uint16(0), []byte{0, 0, 200, 0, 10, 0, 0, 200, 0, 20, 5, 0, 255, 255, 1, 1, 9, 3, 200, 200, 4, 4, 1, 36})
	f.Add(false, uint16(0), []byte{0, 0, 200, 1, 0, 255, 0, 200, 0, 1, 0, 36}) // a fraction, then more than it leaves room for
	f.Add(true, uint16(77), []byte{1, 3, 200, 0, 10, 0, 0, 200, 0, 20, 5, 0, 255, 255, 1, 1, 9, 250, 200, 200, 4, 4, 1, 36})
	f.Fuzz(func(t *testing.T, sampled bool, start uint16, data []byte) {
		if len(data) > 6*300 {
			return
		}
		style := EventCounter
		if sampled {
			style = SampledFunction
		}
		compareWithTwin(t, style, int64(start), data)
	})
}

func compareWithTwin(t *testing.T, style Style, start int64, data []byte) {
	t.Helper()
	h := NewHistogram(float64(start)/1000, style)
	s := &slowHistogram{style: style, start: start}
	now, largest, exact := start, 0.0, new(big.Float).SetPrec(2000)
	counts := true
	for ; len(data) >= 6; data = data[6:] {
		from := now + int64(data[0])*int64(data[0])/16
		now = from + 1 + int64(binary.LittleEndian.Uint16(data[1:]))*int64(1+data[1]%8)
		value := math.Ldexp(float64(binary.LittleEndian.Uint16(data[3:])), int(int8(data[5]))%37)
		h.Add(float64(from)/1000, float64(now)/1000, value)
		s.ivs = append(s.ivs, interval{from, now, value})
		exact.Add(exact, big.NewFloat(value))
		largest = max(largest, value)
		counts = counts && value == math.Trunc(value)
	}
	want, _ := exact.Float64()
	w := s.width()
	if !nearly(h.Width(), float64(w)/1000, 1e-9) {
		t.Fatalf("width %v, want %v ms", h.Width(), w)
	}
	tolerance := 1e-6 * largest
	if style == EventCounter {
		tolerance += float64(len(s.ivs)+1) * 2 * max(h.grain, finestGrain)
	}
	plain, filled := 0.0, int64(0)
	bins := h.Bins()
	for i := range int64(HistogramBins) {
		v, covered := s.bin(i, w)
		got := math.NaN()
		if i < int64(len(bins)) {
			got = bins[i]
		}
		if math.IsNaN(v) != math.IsNaN(got) || math.Abs(v-got) > tolerance {
			t.Fatalf("bin %d of %d ms: %v, want %v", i, w, got, v)
		}
		if !math.IsNaN(v) {
			filled = i + 1
			plain += got
		}
		if !nearly(h.covered[i], float64(covered)/1000, 1e-6*float64(w)/1000) {
			t.Fatalf("bin %d of %d ms: known for %v s, want %d ms", i, w, h.covered[i], covered)
		}
	}
	if filled != int64(len(bins)) {
		t.Fatalf("%d bins, want %d", len(bins), filled)
	}
	if style != EventCounter {
		return
	}
	if counts && want < 1<<53 && (h.Sum() != want || plain != want) {
		t.Fatalf("sum %v, of the bins %v, want %v", h.Sum(), plain, want)
	}
	if !nearly(h.Sum(), want, 1e-15*want) || !nearly(plain, want, 1e-12*want) {
		t.Fatalf("sum %v, of the bins %v, want about %v", h.Sum(), plain, want)
	}
}

func TestHistogramAgainstTwin(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for round := range 60 {
		data := make([]byte, 6*rnd.IntN(150))
		for i := range data {
			data[i] = byte(rnd.Uint32() >> rnd.IntN(32))
		}
		compareWithTwin(t, Style(round%2), rnd.Int64N(5000), data)
	}
}

func TestHistogramGoroutines(t *testing.T) {
	g := NewFoldGroup(0, nil)
	var wg sync.WaitGroup
	hs := []*Histogram{g.New(EventCounter, 0), g.New(EventCounter, 0)}
	for _, h := range hs {
		wg.Go(func() {
			for i := range 2000 {
				h.Add(float64(i), float64(i+1), 1)
			}
		})
		wg.Go(func() {
			for range 200 {
				_, _, _ = h.Bins(), h.Current(), h.Average(0, 1000)
			}
		})
	}
	wg.Wait()
	for _, h := range hs {
		if h.Sum() != 2000 || h.Width() != 3.2 {
			t.Errorf("sum %v, width %v", h.Sum(), h.Width())
		}
	}
}

func BenchmarkHistogramAdd(b *testing.B) {
	h := NewHistogram(0, EventCounter)
	i := 0
	for b.Loop() {
		h.Add(float64(i)*0.2, float64(i+1)*0.2, 7)
		i++
	}
}

func BenchmarkFold1000(b *testing.B) {
	g := NewFoldGroup(0, nil)
	var h *Histogram
	for range 1000 {
		h = g.New(EventCounter, 0)
		h.Add(0, 200, 1e6)
	}
	for b.Loop() {
		h.Fold()
	}
}

func nearly(a, b, tolerance float64) bool { return same(a, b) || math.Abs(a-b) <= tolerance }

func near(a, b []float64, tolerance float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !nearly(a[i], b[i], tolerance) {
			return false
		}
	}
	return true
}
