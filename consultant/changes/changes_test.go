package changes

import (
	"math"
	"math/rand/v2"
	"testing"
)

// curve reads a level with some noise up to a time, each reading of so many seconds.
func curve(r *rand.Rand, until, every float64, level func(at float64) float64) *Curve {
	c := &Curve{}
	for at := 0.0; at+every <= until; at += every {
		c.Add(at, at+every, level(at+every/2)+0.03*r.NormFloat64())
	}
	return c
}

func steady(float64) float64 { return 0.6 }

// at8 changes at 8 s.
func at8(at float64) float64 {
	if at < 8 {
		return 0.1
	}
	return 0.9
}

// TestLatest: a change is found two seconds after it, to within half a second, however often values are read, among curves that do not change; it is
// found after a phase that began before, and no more after one that began with it.
func TestLatest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, every := range []float64{0.2, 0.5, 1.3} {
		for _, now := range []float64{11, 20, 50} {
			curves := []*Curve{curve(r, now, 0.2, steady), curve(r, now, every, at8)}
			c, _, ok := Latest(curves, 0, now)
			if !ok || math.Abs(c.At-8) > max(0.5, every) || c.Curve != 1 || math.Abs(c.Before-0.1) > 0.1 || math.Abs(c.After-0.9) > 0.1 {
				t.Errorf("read each %.1f s, at %.0f s: %+v, %v", every, now, c, ok)
			}
			if before, after := curves[1].Around(8, around); math.Abs(before-0.1) > 0.15 || math.Abs(after-0.9) > 0.15 {
				t.Errorf("read each %.1f s: from %.2f to %.2f around it", every, before, after)
			}
			if c, _, ok := Latest(curves, 8, now); ok {
				t.Errorf("a change after 8 s: %+v", c)
			}
		}
		if c, _, ok := Latest([]*Curve{curve(r, 9, every, at8)}, 0, 9); ok {
			t.Errorf("found a second after it: %+v", c)
		}
	}
}

// TestNoChange: what stays the same, what is not read, a share that is no share, a small step, and what comes back again and again are no change.
func TestNoChange(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for name, level := range map[string]func(float64) float64{
		"steady":   steady,
		"bounded":  func(at float64) float64 { return 5 + at },
		"small":    func(at float64) float64 { return 0.5 + 0.05*at8(at) },
		"iterates": func(at float64) float64 { return float64(int(at/4) % 2) },
	} {
		if c, _, ok := Latest([]*Curve{curve(r, 58, 0.2, level)}, 0, 58); ok {
			t.Errorf("%s: %+v", name, c)
		}
	}
	for name, curves := range map[string][]*Curve{"no curve": nil, "an empty one": {{}}} {
		if c, _, ok := Latest(curves, 0, 30); ok {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestCycle: of what comes back again and again it is told how long it takes, from when on it was seen, and between which values it goes; of what
// others do to the program it is not.
func TestCycle(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	saw := func(at float64) float64 { return 0.1 + 0.7*float64(int(at/4)%2) }
	for _, until := range []float64{30, 58, 200} {
		list := []Source{{Curve: curve(r, until, 0.2, steady), Whole: true}, {Curve: curve(r, until, 0.2, saw), Whole: true}}
		_, c, ok := Told(list, 0, until)
		if ok || math.Abs(c.Seconds-8) > 0.4 || math.Abs(c.From-max(0, until-kept)) > 1 || until-c.To > 4 || c.Curve != 1 || math.Abs(c.Low-0.1) > 0.1 || math.Abs(c.High-0.8) > 0.1 {
			t.Errorf("after %.0f s: %+v, a change %v", until, c, ok)
		}
		list = append(list, Source{Curve: curve(r, until, 0.2, saw), Whole: true, Ready: true})
		if _, c, _ := Told(list, 0, until); c.Seconds != 0 {
			t.Errorf("it waits for CPUs again and again: %+v", c)
		}
	}
	for _, turn := range []float64{1.6, 2, 2.5, 3.3, 5, 9} {
		_, c, ok := Latest([]*Curve{curve(r, 58, 0.2, func(at float64) float64 { return 0.1 + 0.7*float64(int(at/turn)%2) })}, 0, 58)
		t.Logf("every %.1f s: %+v", 2*turn, c)
		if ok || math.Abs(c.Seconds-2*turn) > 0.41 {
			t.Errorf("every %.1f s: %+v, a change %v", 2*turn, c, ok)
		}
	}
	// What changes beside a cycle is a change, and so is what comes after it.
	beside := []*Curve{curve(r, 40, 0.2, saw), curve(r, 40, 0.2, func(at float64) float64 { return at8(at - 22) })}
	if c, cycle, ok := Latest(beside, 0, 40); !ok || math.Abs(c.At-30) > 0.5 || c.Curve != 1 || math.Abs(cycle.Seconds-8) > 0.4 {
		t.Errorf("a change beside a cycle: %+v, %+v, %v", c, cycle, ok)
	}
	ends := func(at float64) float64 {
		if at < 42 {
			return float64(int(at/3) % 2)
		}
		return 0.5
	}
	if c, cycle, ok := Latest([]*Curve{curve(r, 58, 0.2, ends)}, 0, 58); !ok || math.Abs(c.At-42) > 0.5 || math.Abs(cycle.To-42) > 6 {
		t.Errorf("a cycle that ends: %+v, %+v, %v", c, cycle, ok)
	}
	// On a busy machine: others leave a program that computes, and a program stops to compute.
	computes, waits := func(at float64) float64 { return 1 - at8(at) }, func(at float64) float64 { return 0.7 * (1 - at8(at)) }
	for name, c := range map[string]struct {
		cpu func(float64) float64
		ok  bool
	}{
		"wants as many": {func(float64) float64 { return 1 }, false}, "seems to want more": {func(at float64) float64 { return 0.6 + 0.4*at8(at) }, false}, "wants none": {computes, true},
	} {
		_, _, ok := Told([]Source{{Curve: curve(r, 30, 0.2, c.cpu), Whole: true, CPU: true}, {Curve: curve(r, 30, 0.2, waits), Whole: true, Ready: true}}, 0, 30)
		if ok != c.ok {
			t.Errorf("it waits for CPUs until 8 s, and %s: told %v", name, ok)
		}
	}
	for name, level := range map[string]func(float64) float64{"a change": at8, "steady": steady} {
		if _, c, _ := Latest([]*Curve{curve(r, 58, 0.2, level)}, 0, 58); c.Seconds != 0 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestAMinute: what is older than a minute is forgotten.
func TestAMinute(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	c := curve(r, 3000, 0.2, at8)
	if n := len(c.readings); n > 3*int(kept/width) {
		t.Errorf("%d readings are kept", n)
	}
	if c, _, ok := Latest([]*Curve{c}, 0, 3000); ok {
		t.Errorf("%+v", c)
	}
	if !math.IsInf(new(Curve).Last(), -1) || math.Abs(c.Last()-3000) > 0.3 {
		t.Errorf("the last reading ends at %.1f s", c.Last())
	}
}

func BenchmarkLatest(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	var curves []*Curve
	for range 20 {
		curves = append(curves, curve(r, 60, 0.2, at8))
	}
	for b.Loop() {
		Latest(curves, 0, 60)
	}
}
