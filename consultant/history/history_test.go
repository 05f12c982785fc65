package history

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestHistoryFolds(t *testing.T) {
	var h History
	for i := range 5000 {
		h.Add(float64(i), 2)
		if len(h.samples) > Max {
			t.Fatalf("%d samples", len(h.samples))
		}
	}
	old := h.View()
	first := old[0]
	for i := range 5000 {
		h.Add(float64(5000+i), 4)
	}
	if old[0] != first {
		t.Error("samples that were handed out changed")
	}
	v := h.View()
	if n := len(v); n < Max/2-1 || n > Max {
		t.Errorf("%d samples", n)
	}
	for i := 1; i < len(v); i++ {
		if v[i].At <= v[i-1].At {
			t.Fatalf("times do not grow at %d", i)
		}
	}
	if v[0].Value != 2 || v[len(v)-1].Value != 4 {
		t.Errorf("ends are %v and %v", v[0], v[len(v)-1])
	}
}

// TestOverall: the standard error is right for values that are independent, and larger for those that resemble their neighbours.
func TestOverall(t *testing.T) {
	if _, _, ok := Overall(nil); ok {
		t.Error("a history without samples has an average")
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, like := range []float64{0, 0.8} {
		beyond, sum := 0, 0.0
		const rounds, n = 400, 200
		for range rounds {
			var h History
			x := r.NormFloat64() / math.Sqrt(1-like*like)
			for i := range n {
				x = like*x + r.NormFloat64()
				h.Add(float64(i), 3+x)
			}
			mean, err, ok := Overall(h.View())
			if !ok {
				t.Fatal("no average")
			}
			if sum += err / rounds; math.Abs(mean-3) > 2*err {
				beyond++
			}
		}
		if want := 1 / (1 - like) / math.Sqrt(n); sum < 0.7*want || sum > 1.3*want {
			t.Errorf("likeness %v: the error is %v on average, expected %v", like, sum, want)
		}
		if beyond > rounds/8 {
			t.Errorf("likeness %v: %d of %d averages are more than two errors off", like, beyond, rounds)
		}
	}
}

// The last value is the last one, also where many are averaged into a sample: in the second hour a sample has those of ten seconds.
func TestLast(t *testing.T) {
	var h History
	if h.Last() != 0 {
		t.Errorf("without values: %g", h.Last())
	}
	for i := range 50_000 {
		if h.Add(float64(i), 1); h.Last() != float64(i) {
			t.Fatalf("value %d: the last one was at %g s", i, h.Last())
		}
	}
}
