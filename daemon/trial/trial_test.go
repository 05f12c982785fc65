package trial

import (
	"testing"

	"culprit/trampoline"
)

func open(t testing.TB) *Bench {
	b, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

var one = &trampoline.Expr{Op: trampoline.ExConst, Value: 1}

func add(cell int32) trampoline.Mini {
	return trampoline.Mini{Op: trampoline.Add, Cell: cell, Expr: one}
}

// TestCosts: what a probe does shows in its price, at every place.
func TestCosts(t *testing.T) {
	b := open(t)
	cost := func(name string, c Case) float64 {
		t.Helper()
		ns, err := b.Cost(c)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Logf("%-30s %8.2f ns", name, ns)
		return ns
	}
	counter := cost("counter", Case{Minis: map[Place][]trampoline.Mini{Entry: {add(64)}}})
	wall := cost("wall timer", Case{Minis: map[Place][]trampoline.Mini{Entry: {{Op: trampoline.WallEnter, Cell: 128}}, Return: {{Op: trampoline.WallLeave, Cell: 128}}}})
	cpu := cost("CPU timer", Case{Minis: map[Place][]trampoline.Mini{Entry: {{Op: trampoline.CPUEnter, Cell: 128}}, Return: {{Op: trampoline.CPULeave, Cell: 128}}}})
	call := &trampoline.Expr{Op: trampoline.ExCall, Value: 12345, Args: []*trampoline.Expr{one, {Op: trampoline.ExAddr, Value: 64}}}
	called := cost("call", Case{Minis: map[Place][]trampoline.Mini{Entry: {{Op: trampoline.Set, Cell: 64, Expr: call}}}})
	if counter <= 0 || wall <= counter || cpu <= wall || called <= counter {
		t.Errorf("a counter costs %.2f, a wall timer %.2f, a CPU timer %.2f, a call %.2f ns", counter, wall, cpu, called)
	}
	guarded := trampoline.Mini{Op: trampoline.WallStart, Cell: 128, Guards: []trampoline.Guard{{Cell: 72}}}
	stop := trampoline.Mini{Op: trampoline.WallStop, Cell: 128}
	pair := map[Place][]trampoline.Mini{Entry: {guarded}, Return: {stop}}
	shut := cost("timer behind a flag that is 0", Case{Minis: pair})
	lifted := cost("timer behind a flag", Case{Minis: pair, Words: map[int32]uint64{72: 1}})
	if lifted < 3*shut {
		t.Errorf("a timer behind a flag costs %.2f ns, behind one that is 0 %.2f", lifted, shut)
	}
	for _, p := range []Place{Return, Call, Called, Inside} {
		cost("counter elsewhere", Case{Minis: map[Place][]trampoline.Mini{p: {add(64)}}})
	}
}

// TestTooLong: what does not fit is an error.
func TestTooLong(t *testing.T) {
	var many []trampoline.Mini
	for i := range 6000 {
		many = append(many, add(int32(64+8*(i%4000))))
	}
	if ns, err := open(t).Cost(Case{Minis: map[Place][]trampoline.Mini{Entry: many}}); err == nil {
		t.Errorf("6,000 counters cost %.1f ns", ns)
	}
}
