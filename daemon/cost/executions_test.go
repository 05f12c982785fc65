package cost

import (
	"testing"

	"culprit/pcl"
)

// add is code that adds a constant to variable 0.
func add(value int64) []pcl.Instr {
	return []pcl.Instr{{Op: pcl.OpAdd, Expr: &pcl.Expr{Op: pcl.ExConst, Value: value}}}
}

// counter counts calls of so many functions; timer times them by a clock.
func counter(funcs int) *pcl.Plan {
	p := &pcl.Plan{Kind: pcl.Counter, Vars: []pcl.Var{{Name: "calls", Kind: pcl.Counter}}}
	for f := range funcs {
		p.Requests = append(p.Requests, pcl.Request{Func: pcl.FuncID(f), Where: pcl.Entry, Code: add(1)})
	}
	return p
}

func timer(kind pcl.Kind) *pcl.Plan {
	return &pcl.Plan{Kind: kind, Vars: []pcl.Var{{Name: "time", Kind: kind}}, Requests: []pcl.Request{
		{Func: 1, Where: pcl.Entry, Code: []pcl.Instr{{Op: pcl.OpTimerEnter}}},
		{Func: 1, Where: pcl.Return, Code: []pcl.Instr{{Op: pcl.OpTimerLeave}}}}}
}

// TestExecutions: what does more takes more, tried or by the floors.
func TestExecutions(t *testing.T) {
	var tried Executions
	defer tried.Close()
	for name, x := range map[string]*Executions{"tried": &tried, "floors": {tried: true}} {
		count, wall, cpu := x.Average(counter(1), false), x.Average(timer(pcl.WallTimer), false), x.Average(timer(pcl.ProcessTimer), false)
		if count <= 0 || wall <= count || cpu <= wall {
			t.Errorf("%s: a counter takes %.2f ns, a wall timer %.2f, one of CPU time %.2f", name, count, wall, cpu)
		}
		if got := x.Average(timer(pcl.ProcessTimer), true); got >= cpu {
			t.Errorf("%s: a timer that reads statistics takes %.2f ns, one that asks the kernel %.2f", name, got, cpu)
		}
	}
}

// TestTriedOnce: functions where the same is done have one price, which is tried once.
func TestTriedOnce(t *testing.T) {
	x := Executions{tried: true}
	ns := x.Each(counter(100), false)
	if len(ns) != 100 || ns[0] != ns[99] || len(x.known) != 1 {
		t.Errorf("%d prices, %d of them known: %v and %v", len(ns), len(x.known), ns[0], ns[99])
	}
	x.Each(counter(3), true)
	if len(x.known) != 2 {
		t.Errorf("%d prices are known of probes with statistics and without", len(x.known))
	}
}

// TestClosed: after Close nothing is tried any more, and there is a price all the same.
func TestClosed(t *testing.T) {
	var x Executions
	x.Close()
	if got := x.Average(counter(1), false); got != priceOfJump+priceOfCounter || x.bench != nil {
		t.Errorf("%g ns, bench %v", got, x.bench)
	}
}

// TestTooManyToTry: a plan with more variables than fit is priced by the floors.
func TestTooManyToTry(t *testing.T) {
	p := counter(1)
	for range 10000 {
		p.Vars = append(p.Vars, pcl.Var{Kind: pcl.WallTimer})
	}
	if _, err := trialOf(p, nil, false); err == nil {
		t.Fatal("they fit")
	}
	var x Executions
	defer x.Close()
	if got := x.Average(p, false); got != priceOfJump+priceOfCounter {
		t.Errorf("%g ns", got)
	}
}

// TestUse: what probes take is told by how often they ran since the last count.
func TestUse(t *testing.T) {
	x := &Executions{tried: true}
	plan := counter(1)
	plan.Requests = append(plan.Requests, pcl.Request{Func: 2, Where: pcl.Entry, Follows: true, Code: append(add(1), add(2)...)})
	each, followed := x.Average(plan, false), x.averageOf(plan, true, false)
	if each == followed {
		t.Fatal("both have one price")
	}
	var u Use
	u.Begin(100, 10)
	if u.Priced() {
		t.Error("it has a price before anything was counted")
	}
	u.Price(x, plan, false)
	for _, c := range []struct {
		each, followed uint64
		want           float64
	}{{100, 10, 0}, {100 + 1e6, 10, 1e6 * each / 2e9}, {100 + 1e6, 10 + 1e6, 1e6 * followed / 2e9}, {100 + 1e6, 10 + 1e6, 0}} {
		if u.Count(c.each, c.followed, 2); u.CPUs != c.want {
			t.Errorf("after %d and %d: %g CPUs, want %g", c.each, c.followed, u.CPUs, c.want)
		}
	}
	if u.Begin(0, 0); u.Priced() {
		t.Error("it keeps its price when it begins again")
	}
}
