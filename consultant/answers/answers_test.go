package answers

import "testing"

// A cycle that goes on began when it was first seen; one that comes after a pause is another one.
func TestCycleAfter(t *testing.T) {
	now := Cycle{Seconds: 6, From: 40, To: 100, What: "it goes"}
	for _, c := range []struct {
		before Cycle
		from   float64
	}{{Cycle{}, 40}, {Cycle{Seconds: 6, From: 3, To: 90}, 3}, {Cycle{Seconds: 2, From: 3, To: 30}, 40}} {
		if got := now.After(c.before); got.From != c.from || got.To != now.To || got.What != now.What {
			t.Errorf("after %+v: %+v", c.before, got)
		}
	}
}

func TestWholePhase(t *testing.T) {
	for name, whole := range map[string]bool{"": true, Global: true, "load": false} {
		if (Phase{Name: name}).IsWhole() != whole {
			t.Errorf("phase %q", name)
		}
	}
}
