package probe

import (
	"fmt"
	"reflect"
	"testing"

	"culprit/pcl"
	"culprit/trampoline"
)

// words hands out one cell after the other, from 64 on.
type words struct {
	next, end int32
	tables    bool
}

func (w *words) Alloc(n int32) (int32, error) {
	if w.next+n > w.end {
		return 0, fmt.Errorf("no room for %d bytes", n)
	}
	w.next += n
	return w.next - n, nil
}

func (w *words) AllocBuckets() (int32, error) { return w.Alloc(trampoline.BucketsSize) }

func (w *words) AllocTable() (int32, error) {
	if !w.tables {
		return 0, fmt.Errorf("no room for a table")
	}
	return w.Alloc(trampoline.TableSize)
}

var (
	one    = &pcl.Expr{Op: pcl.ExConst, Value: 1}
	first  = &pcl.Expr{Op: pcl.ExArg, Value: 0}
	tOne   = &trampoline.Expr{Op: trampoline.ExConst, Value: 1}
	tFirst = &trampoline.Expr{Op: trampoline.ExArg, Value: 0}
)

// TestCode: what the code of a request is as primitives, and in which cells.
func TestCode(t *testing.T) {
	hits := trampoline.Mini{Op: trampoline.Add, Cell: -1, Expr: &trampoline.Expr{Value: 1}}
	for _, c := range []struct {
		name string
		plan pcl.Plan
		rows bool
		want []trampoline.Mini
	}{
		{"a counter counts itself", pcl.Plan{Kind: pcl.Counter, Vars: []pcl.Var{{Kind: pcl.Counter}},
			Requests: []pcl.Request{{Code: []pcl.Instr{{Op: pcl.OpAdd, Expr: one}}}}}, false,
			[]trampoline.Mini{{Op: trampoline.Add, Cell: 64, Expr: tOne}}},
		{"a sum does not", pcl.Plan{Kind: pcl.Counter, Vars: []pcl.Var{{Kind: pcl.Counter}},
			Requests: []pcl.Request{{Code: []pcl.Instr{{Op: pcl.OpAdd, Expr: first}}}}}, false,
			[]trampoline.Mini{hits, {Op: trampoline.Add, Cell: 64, Expr: tFirst}}},
		{"a wall timer", pcl.Plan{Kind: pcl.WallTimer, Vars: []pcl.Var{{Kind: pcl.WallTimer}},
			Requests: []pcl.Request{{Code: []pcl.Instr{{Op: pcl.OpTimerEnter}}}}}, true,
			[]trampoline.Mini{hits, {Op: trampoline.WallEnter, Cell: 64}}},
		{"CPU time asks the kernel", pcl.Plan{Kind: pcl.ProcessTimer, Vars: []pcl.Var{{Kind: pcl.ProcessTimer}},
			Requests: []pcl.Request{{Code: []pcl.Instr{{Op: pcl.OpTimerEnter}}}}}, false,
			[]trampoline.Mini{hits, {Op: trampoline.CPUEnter, Cell: 64}}},
		{"or reads rows", pcl.Plan{Kind: pcl.ProcessTimer, Vars: []pcl.Var{{Kind: pcl.ProcessTimer}},
			Requests: []pcl.Request{{Code: []pcl.Instr{{Op: pcl.OpTimerLeave}}}}}, true,
			[]trampoline.Mini{hits, {Op: trampoline.RunLeave, Cell: 64, Row: Quantity(&pcl.Plan{}).Offset()}}},
		{"a flag guards", pcl.Plan{Kind: pcl.Counter, Vars: []pcl.Var{{Kind: pcl.Counter}, {Kind: pcl.Counter}},
			Requests: []pcl.Request{{Guards: []int{1}, Code: []pcl.Instr{{Op: pcl.OpAdd, Expr: one}}}, {Code: []pcl.Instr{{Op: pcl.OpFlagEnter, Var: 1}}}}}, false,
			[]trampoline.Mini{hits, {Op: trampoline.Add, Cell: 64, Expr: tOne, Guards: []trampoline.Guard{{Cell: 72, Activation: true}}}}},
		{"a gauge of the process", pcl.Plan{Kind: pcl.Gauge, Vars: []pcl.Var{{Kind: pcl.Gauge}},
			Requests: []pcl.Request{{Code: []pcl.Instr{{Op: pcl.OpSet, Expr: first, Cond: &pcl.Expr{Op: pcl.ExVar}}}}}}, false,
			[]trampoline.Mini{hits, {Op: trampoline.GaugeSet, Cell: 64, Shared: true, Expr: tFirst, Cond: &trampoline.Expr{Op: trampoline.ExShared, Value: 64}}}},
		{"a key that tells its kind", pcl.Plan{Kind: pcl.Counter, By: 1, Vars: []pcl.Var{{Kind: pcl.Counter}, {Kind: pcl.Counter}},
			Requests: []pcl.Request{{Code: []pcl.Instr{{Op: pcl.OpSet, Var: 1, Expr: first}, {Op: pcl.OpAdd, Expr: one}}}}}, false,
			[]trampoline.Mini{hits, {Op: trampoline.Set, Cell: 72, Expr: &trampoline.Expr{Op: trampoline.ExNeg, L: tFirst}},
				{Op: trampoline.Add, Cell: 64, Table: 80, Key: 72, Expr: tOne}}},
	} {
		l := NewLayout(&c.plan, c.rows)
		l.KeyOf = func(key *trampoline.Expr, _ pcl.FuncID) *trampoline.Expr {
			return &trampoline.Expr{Op: trampoline.ExNeg, L: key}
		}
		if err := l.Reserve(&words{next: 64, end: 1 << 16, tables: true}, wantsTable(&c.plan, true), false); err != nil {
			t.Fatal(err)
		}
		got, err := l.Code(&c.plan.Requests[0])
		if err != nil {
			t.Fatal(err)
		}
		if c.want[0].Cell == -1 {
			c.want[0].Cell = l.Hits
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n%+v, want\n%+v", c.name, got, c.want)
		}
	}
}

// TestReserve: what is reserved is told, also after an error, so that all of it can be given back.
func TestReserve(t *testing.T) {
	plan := &pcl.Plan{Kind: pcl.WallTimer, By: 1, Vars: []pcl.Var{{Kind: pcl.WallTimer}, {Kind: pcl.Counter}},
		Requests: []pcl.Request{{Code: []pcl.Instr{{Op: pcl.OpTimerEnter}}}}}
	const all = trampoline.TimerSize + 4*trampoline.WordSize
	for _, c := range []struct {
		name   string
		memory words
		table  Want
		err    bool
	}{
		{"room for everything", words{next: 64, end: 1 << 16, tables: true}, Needed, false},
		{"no room for a table that may be", words{next: 64, end: 64 + all}, IfRoom, false},
		{"no room for a table that must be", words{next: 64, end: 64 + all}, Needed, true},
		{"no room for the last word", words{next: 64, end: 64 + trampoline.TimerSize + 2*trampoline.WordSize}, Without, true},
		{"no room at all", words{next: 64, end: 64}, Without, true},
	} {
		l := NewLayout(plan, false)
		if err := l.Reserve(&c.memory, c.table, true); (err != nil) != c.err {
			t.Errorf("%s: %v", c.name, err)
		}
		var sum int32
		for _, w := range l.Words() {
			sum += w.Size
		}
		if sum != c.memory.next-64 {
			t.Errorf("%s: %d bytes are told, %d were reserved", c.name, sum, c.memory.next-64)
		}
		if l.Clear(); len(l.Words()) != 0 {
			t.Errorf("%s: there are words after all were forgotten", c.name)
		}
	}
}

// TestAsksKernel: which probes make system calls.
func TestAsksKernel(t *testing.T) {
	timer := &pcl.Plan{Vars: []pcl.Var{{Kind: pcl.ProcessTimer}}}
	load := &pcl.Plan{Vars: []pcl.Var{{Kind: pcl.Counter}}, Requests: []pcl.Request{{Code: []pcl.Instr{{Op: pcl.OpAdd, Expr: &pcl.Expr{Op: pcl.ExNeg, L: &pcl.Expr{Op: pcl.ExLoad, L: first}}}}}}}
	for _, c := range []struct {
		plan *pcl.Plan
		rows bool
		want string
	}{{timer, false, TimingCPU}, {timer, true, ""}, {load, true, ReadingMemory}, {&pcl.Plan{}, false, ""}} {
		l := NewLayout(c.plan, c.rows)
		if got := l.AsksKernel(); got != c.want {
			t.Errorf("%+v, rows %t: %q, want %q", c.plan, c.rows, got, c.want)
		}
	}
}
