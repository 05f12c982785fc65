package daemon

import (
	"math/rand/v2"
	"slices"
	"testing"

	"culprit/daemon/estimate"
	"culprit/daemon/libc"
	"culprit/daemon/measuring"
	"culprit/daemon/program"
	"culprit/daemon/sampling"
	"culprit/daemon/stack"
	"culprit/internal/testprog"
	"culprit/pcl"
)

// The slow twin of a meter runs the code of a plan at every event of a random run (an entry, a call, a return, behind the call) with timers
// and flags as trampolines have them, on the functions of a real program. At any moment its timer must run exactly if the meter says so
// of the stack.

// A twin is a thread whose events run a plan.
type twin struct {
	plan  *pcl.Plan
	stack []activeFrame // outermost first
	// Flags and timers of an activation hold its depth, counted from 1, until it returns; plain ones hold anything but 0.
	vars []int
}

type activeFrame struct {
	f    *program.Function
	site int // of the call that it is in, -1 if none
}

// fire runs the requests for a point of the innermost function.
func (w *twin) fire(where pcl.Where, site int, post bool) {
	f, depth := w.stack[len(w.stack)-1].f, len(w.stack)
	for i := range w.plan.Requests {
		r := &w.plan.Requests[i]
		if r.Func == f.ID && r.Where == where && (where != pcl.Call || r.Site == site && r.Post == post) {
			w.run(r, depth)
		}
	}
}

func (w *twin) run(r *pcl.Request, depth int) {
	for _, g := range r.Guards {
		if w.vars[g] == 0 {
			return
		}
	}
	for _, in := range r.Code {
		v := &w.vars[in.Var]
		switch in.Op {
		case pcl.OpFlagEnter, pcl.OpTimerEnter:
			if *v == 0 {
				*v = depth
			}
		case pcl.OpFlagLeave, pcl.OpTimerLeave:
			if *v == depth {
				*v = 0
			}
		case pcl.OpTimerStart:
			*v = 1
		case pcl.OpTimerStop:
			*v = 0
		case pcl.OpSet:
			*v = int(in.Expr.Value)
		}
	}
}

// enter and leave are the events of a call.
func (w *twin) enter(f *program.Function, site int) {
	if n := len(w.stack); n > 0 {
		w.stack[n-1].site = site
		w.fire(pcl.Call, site, false)
	}
	w.stack = append(w.stack, activeFrame{f, -1})
	w.fire(pcl.Entry, 0, false)
}

func (w *twin) leave() {
	w.fire(pcl.Return, 0, false)
	w.stack = w.stack[:len(w.stack)-1]
	if n := len(w.stack); n > 0 {
		w.fire(pcl.Call, w.stack[n-1].site, true)
		w.stack[n-1].site = -1
	}
}

// sample is what a walk of the stack would give.
func (w *twin) sample() *sampling.Sample {
	x := &sampling.Sample{}
	for _, a := range slices.Backward(w.stack) {
		fr := stack.Frame{Func: a.f, PC: a.f.Addr() + 1}
		if a.site >= 0 {
			fr.PC = a.f.Flow().Calls[a.site].Ret + a.f.Obj.Bias
		}
		x.Frames = append(x.Frames, fr)
	}
	return x
}

// step makes one random event. A direct call leads where it does in the program, an indirect one to any of the functions.
func (w *twin) step(t *measuring.Process, r *rand.Rand, fns []*program.Function) {
	const deepest = 12
	n := len(w.stack)
	calls := 0
	if n > 0 {
		calls = len(w.stack[n-1].f.Flow().Calls)
	}
	switch {
	case n == 0:
		w.enter(fns[r.IntN(len(fns))], -1)
	case calls > 0 && n < deepest && r.IntN(5) < 3:
		f, site := w.stack[n-1].f, r.IntN(calls)
		to := t.Callee(f.Obj, f.Flow().Calls[site])
		if to == nil {
			to = fns[r.IntN(len(fns))]
		}
		if to.Flow() != nil {
			w.enter(to, site)
		}
	default:
		w.leave()
	}
}

func TestMeterAgreesWithItsTwin(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/shares.c"))
	d := lookAt(t, p.PID)
	d.Known()
	d.lockAll() // looks make functions known
	defer d.unlockAll()
	tg := d.targets[0]
	var fns []*program.Function
	for _, name := range []string{"half", "third", "compute", "burn", "visit", "wait_for_mutex", "wait_for_mail", "main"} {
		for _, id := range tg.Named(name) {
			fns = append(fns, tg.Func(id))
		}
	}
	for _, name := range []string{"pthread_mutex_lock", "read", "clock_gettime"} {
		for _, id := range tg.Named(name) {
			if f := tg.Func(id); libc.IsC(f.Obj.Name) {
				fns = append(fns, f)
			}
		}
	}
	for _, f := range fns {
		if f.Flow() == nil {
			t.Fatalf("%s: %s", f.Fn.Name, tg.Plans.Made(f).Reason())
		}
	}
	r := rand.New(rand.NewPCG(5, 4))
	events, ran, plans := 0, 0, 0
	for _, metric := range []string{"cpu", "cpu_inclusive", "exec_time", "exec_time_inclusive", "sync_wait", "sync_wait_inclusive", "io_wait", "io_wait_inclusive"} {
		for _, focus := range []string{"/", "/Code/shares.c", "/Code/shares.c/half", "/Code/shares.c/compute", "/Code/shares.c/visit", "/Code/shares.c/wait_for_mutex",
			"/Code/libc.so.6/read", "/Code/libc.so.6"} {
			plan, _, err := tg.Sampled().Compile(key(t, metric, focus))
			if err != nil {
				t.Fatalf("%s at %s: %v", metric, focus, err)
			}
			if plan.Kind == pcl.Kernel {
				continue
			}
			plans++
			e := estimate.NewMeter(tg.Sampled(), plan, "")
			w := &twin{plan: plan, vars: make([]int, len(plan.Vars))}
			for range rounds(400, 50_000) {
				w.step(tg, r, fns)
				events++
				if len(w.stack) == 0 {
					clear(w.vars) // what a plain flag of the outermost function leaves is not on any stack
					continue
				}
				x := w.sample()
				if got, want := e.Runs(x), w.vars[0] != 0; got != want {
					t.Fatalf("%s at %s: the timer runs: %v, the meter says %v, on the stack (innermost first):%s", metric, focus, want, got, stackText(x))
				} else if got {
					ran++
				}
			}
		}
	}
	t.Logf("%d plans, %d events; the timer ran at %d of them", plans, events, ran)
	if plans < 50 || ran < events/20 {
		t.Error("too little was compared")
	}
	p.Stop(t)
}

func stackText(x *sampling.Sample) (s string) {
	for _, fr := range x.Frames {
		s += " " + fr.Func.Fn.Name
	}
	return s
}

// TestCallsBehindJumps: a semaphore's slow path is reached by a jump. The function that jumped is put back where its call stands, once, and
// nothing is put anywhere else.
func TestCallsBehindJumps(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/shares.c"))
	d := lookAt(t, p.PID)
	d.Known()
	d.lockAll() // looks make functions known
	defer d.unlockAll()
	tg := d.targets[0]
	jumps := stack.TailCallsOf(tg.Program)
	caller := tg.Func(tg.Named("wait_for_ticket")[0])
	found := false
	for _, c := range caller.Flow().Calls {
		g := tg.Callee(caller.Obj, c)
		if g == nil || g.Fn.Name != "sem_wait" {
			continue
		}
		for _, x := range g.Flow().Exits {
			slow := tg.TailCallee(g.Obj, x)
			if x.Target == 0 || slow == nil || slow == g {
				continue
			}
			found = true
			frames := jumps.Restore([]stack.Frame{{Func: slow, PC: slow.Addr() + 4}, {Func: caller, PC: c.Ret + caller.Obj.Bias}})
			if len(frames) != 3 || frames[1].Func != g {
				t.Errorf("%d frames", len(frames))
			}
			if again := jumps.Restore(frames); len(again) != 3 {
				t.Errorf("%d frames the second time", len(again))
			}
			if frames := jumps.Restore([]stack.Frame{{Func: g, PC: g.Addr() + 4}, {Func: caller, PC: c.Ret + caller.Obj.Bias}}); len(frames) != 2 {
				t.Errorf("%d frames of a plain call", len(frames))
			}
			if frames := jumps.Restore([]stack.Frame{{Func: caller, PC: caller.Addr() + 4}, {Func: caller, PC: c.Ret + caller.Obj.Bias}}); len(frames) != 2 {
				t.Errorf("%d frames of a call that nothing leads to", len(frames))
			}
		}
	}
	if !found {
		t.Log("this C library's sem_wait does not end in a jump: nothing to be put back")
	}
	p.Stop(t)
}
