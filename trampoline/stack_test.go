package trampoline

import (
	"bytes"
	"testing"

	"culprit/trampoline/planner"
)

// What docs/safety.md says of how many bytes of a stack trampolines take where no register is dead, but for flags that are kept and a target that
// an indirect call has (8 each), and for calls of the target's functions.
const (
	mostOfCounters = 32  // and of timers that read the time-stamp counter, or a row
	mostOfCPU      = 72  // of timers that ask the kernel
	mostOfGauges   = 64  // with their times
	mostOfMemory   = 240 // of probes that compare a text of the greatest length; 8 more for each level of an expression around it
	mostOfSearch   = 56  // where a thread comes to a trampoline for the first time, or its block's place is another's
)

// mostPushed is how many bytes the trampoline of one probe takes at most.
func mostPushed(t *testing.T, m Mini) (most int) {
	t.Helper()
	code := unhex(t, "4889c7 4889c6 c3") // reads rax
	s := &sample{code: code, insts: decodeAll(code, funcAt), points: []planner.Point{{Kind: planner.FuncEntry, Addr: funcAt}}}
	env := nativeEnv()
	env.BlockSize = 512
	b, err := Generate(env, planner.MakePlan(s.body(), s.points).Sites[0], [][]Group{{{Owner: 1, Minis: []Mini{m}}}}, roomAt)
	if err != nil {
		t.Fatal(err)
	}
	for _, span := range b.Spans {
		most = max(most, span.Pushed)
	}
	return most
}

// TestStackOfProbes: no primitive takes more than is said, and some take that much.
func TestStackOfProbes(t *testing.T) {
	names, minis := primitives()
	counters, cpu := 0, 0
	for _, name := range names {
		n := mostPushed(t, minis[name])
		t.Logf("%s: %d", name, n)
		if minis[name].Op.CPU() {
			cpu = max(cpu, n)
		} else {
			counters = max(counters, n)
		}
	}
	gauge := mostPushed(t, Mini{Op: GaugeAdd, Cell: 64, Expr: &Expr{Value: 1}})
	match := &Expr{Op: ExMatch, L: &Expr{Op: ExArg}, Text: string(bytes.Repeat([]byte{'x'}, MaxText))}
	memory := mostPushed(t, Mini{Op: Add, Cell: 64, Expr: &Expr{Value: 1}, Cond: match})
	if n := 3*8 + pushedByStub(t); n != mostOfSearch { // the section has saved its three registers
		t.Errorf("the search for a block %d", n)
	}
	if counters != mostOfCounters || cpu != mostOfCPU || gauge != mostOfGauges || memory != mostOfMemory {
		t.Errorf("counters %d, timers of the kernel %d, gauges %d, memory %d", counters, cpu, gauge, memory)
	}
}

// pushedByStub is how many bytes the stub takes that finds a thread's block.
func pushedByStub(t *testing.T) (most int) {
	stub, err := SlowStub(nativeEnv(), slowAt)
	if err != nil {
		t.Fatal(err)
	}
	code := stub[slowDataOff+16:] // behind its words
	now := 0
	for _, in := range decodeAll(code, slowAt) {
		switch op := code[in.Addr-slowAt]; {
		case in.Len == 1 && op&^7 == 0x50:
			now += 8
		case in.Len == 1 && op&^7 == 0x58:
			now -= 8
		}
		most = max(most, now)
	}
	return most
}
