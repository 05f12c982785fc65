package experiments

import (
	"math"
	"testing"
)

// TestLog: values that follow each other are one test, whose cost is the mean over its time; after a pause another test begins.
func TestLog(t *testing.T) {
	var l Log
	l.Read(1, 1.2, 0.01)
	l.Read(1.2, 1.6, 0.04)
	l.Read(1.2, 1.6, 0.9) // read again
	l.Read(5, 5.2, 0)
	got := l.All()
	if len(got) != 2 {
		t.Fatalf("%+v", got)
	}
	if a := got[0]; a.Begin != 1 || math.Abs(a.Seconds-0.6) > 1e-9 || math.Abs(a.Cost-0.03) > 1e-9 {
		t.Errorf("the first test: %+v", a)
	}
	if b := got[1]; b.Begin != 5 || math.Abs(b.Seconds-0.2) > 1e-9 || b.Cost != 0 {
		t.Errorf("the second test: %+v", b)
	}
	l.Read(5.2, 6.2, 0)
	l.Read(9, 10, 0)
	if got[1].Seconds > 0.21 || len(got) != 2 {
		t.Errorf("what was handed out changed to %+v", got)
	}
	if now := l.All(); len(now) != 3 || math.Abs(now[1].Seconds-1.2) > 1e-9 {
		t.Errorf("%+v", now)
	}
}

// TestLogIsBounded: of many tests the latest are kept.
func TestLogIsBounded(t *testing.T) {
	var l Log
	for i := range 3 * Most {
		l.Read(float64(10*i), float64(10*i)+1, 0)
	}
	if got := l.All(); len(got) != Most || got[Most-1].Begin != 10*(3*Most-1) || got[0].Begin != 20*Most {
		t.Errorf("%d tests, from %v to %v", len(got), got[0], got[len(got)-1])
	}
}
