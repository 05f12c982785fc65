package measuring

import (
	"math"
	"testing"

	"culprit/pcl"
)

// A fakeMeter tells what a test wants it to tell.
type fakeMeter struct {
	Meter
	next float64
}

func (m *fakeMeter) Begin()                         {}
func (m *fakeMeter) Grown(interval float64) float64 { return m.next }
func (m *fakeMeter) Adopt(*pcl.Plan) bool           { return false }

// TestReadings: what is read several times before it is handed on is the sum of what it has grown by, or the mean of its values by their time; a value that
// was read once is what it was.
func TestReadings(t *testing.T) {
	for _, c := range []struct {
		name    string
		isValue bool
		at      []float64
		read    []float64
		want    float64
	}{
		{"one growth", false, []float64{11}, []float64{3}, 3},
		{"growths", false, []float64{11, 14, 15}, []float64{3, 0.5, 2}, 5.5},
		{"one value", true, []float64{10.1}, []float64{1.0 / 3}, 1.0 / 3},
		{"values", true, []float64{11, 14}, []float64{8, 4}, 5},
		{"the same moment again", false, []float64{11, 11}, []float64{3, 9}, 3},
	} {
		m := &fakeMeter{}
		p := &Part{Meter: m}
		for range 2 { // nothing is left of the first time
			p.Begin(10)
			for i, at := range c.at {
				m.next = c.read[i]
				p.Read(at, c.isValue)
			}
			if got := p.Take(); got != c.want && math.Abs(got-c.want) > 1e-12 {
				t.Errorf("%s: %g, want %g", c.name, got, c.want)
			}
			if got := p.Take(); got != 0 {
				t.Errorf("%s: %g is taken twice", c.name, got)
			}
		}
	}
}

// TestFirstValueIsExact: nothing is rounded where no process was left out.
func TestFirstValueIsExact(t *testing.T) {
	m := &fakeMeter{next: 0.1 + 0.2}
	p := &Part{Meter: m}
	p.Begin(1)
	p.Read(1.7, true)
	if got := p.Take(); got != m.next {
		t.Errorf("%v, want %v", got, m.next)
	}
}
