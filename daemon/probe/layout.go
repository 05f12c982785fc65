package probe

import (
	"slices"

	"culprit/daemon/threadstats"
	"culprit/pcl"
	"culprit/trampoline"
)

// A Cell is a variable of a plan in each thread block.
type Cell struct {
	Off, Size  int32
	Kind       pcl.Kind
	Activation bool                 // a flag that holds a stack pointer
	Rows       bool                 // a timer that reads the thread's row
	Quantity   threadstats.Quantity // of the row, if it reads one
}

// A Layout says where the words of a plan lie in each thread block. It needs no target: prices are tried with one.
type Layout struct {
	Plan *pcl.Plan
	Rows bool // timers read the kernel's rows, where they can

	// KeyOf makes the key that code in a function sets to one that also tells of which kind the object is. It may be nil.
	KeyOf func(key *trampoline.Expr, set pcl.FuncID) *trampoline.Expr

	Cells   []Cell
	Buckets int32 // of the distribution of values; 0 if there is none
	Table   int32 // of what is told apart; 0 if there is none
	Hits    int32 // counts executions, for the price; -1 if the metric's own word does
	Follows int32 // counts executions of what keeps up with descriptors; 0 if nothing does
}

// NewLayout is a layout for which nothing is reserved yet.
func NewLayout(plan *pcl.Plan, rows bool) Layout { return Layout{Plan: plan, Rows: rows, Hits: -1} }

// Memory hands out words of the thread blocks, the same in every block: a segment.Cells does.
type Memory interface {
	Alloc(n int32) (int32, error)
	AllocBuckets() (int32, error)
	AllocTable() (int32, error)
}

// A Want is whether a layout is to have something.
type Want int

// Not at all, if there is room for it, or else it is an error.
const (
	Without Want = iota
	IfRoom
	Needed
)

// Reserve reserves the words: a table if it is wanted, and one more where requests that follow files are to be counted apart. After an error
// Words has what was reserved until then.
func (l *Layout) Reserve(m Memory, table Want, follows bool) error {
	for i, v := range l.Plan.Vars {
		c := l.cell(i, v.Kind)
		var err error
		if c.Off, err = m.Alloc(c.Size); err != nil {
			return err
		}
		l.Cells = append(l.Cells, c)
	}
	if l.Plan.Distribution {
		var err error
		if l.Buckets, err = m.AllocBuckets(); err != nil {
			return err
		}
	}
	if table != Without {
		off, err := m.AllocTable()
		if err != nil && table == Needed {
			return err
		}
		l.Table = off
	}
	if l.countsItself() {
		return nil
	}
	off, err := m.Alloc(trampoline.WordSize)
	if err == nil {
		l.Hits = off
		if follows {
			l.Follows, err = m.Alloc(trampoline.WordSize)
		}
	}
	return err
}

// Clear forgets the words.
func (l *Layout) Clear() { l.Cells, l.Hits, l.Buckets, l.Table, l.Follows = nil, -1, 0, 0, 0 }

// cell is the cell that variable i of the plan needs.
func (l *Layout) cell(i int, kind pcl.Kind) Cell {
	c := Cell{Size: trampoline.WordSize, Kind: kind, Activation: l.isActivationFlag(i), Rows: l.Rows && (kind == pcl.ProcessTimer || kind == pcl.Kernel), Quantity: Quantity(l.Plan)}
	switch {
	case c.Rows && kind == pcl.ProcessTimer:
		c.Size = trampoline.RunTimerSize
	case kind.Holds():
		c.Size = trampoline.GaugeSize
	case kind != pcl.Counter:
		c.Size = trampoline.TimerSize
	}
	return c
}

// Words are all that is reserved in each thread block.
func (l *Layout) Words() []Cell {
	cells := slices.Clone(l.Cells)
	if l.Hits >= 0 {
		cells = append(cells, Cell{Off: l.Hits, Size: trampoline.WordSize})
	}
	if l.Buckets != 0 {
		cells = append(cells, Cell{Off: l.Buckets, Size: trampoline.BucketsSize})
	}
	if l.Table != 0 {
		cells = append(cells, Cell{Off: l.Table, Size: trampoline.TableSize})
	}
	if l.Follows != 0 {
		cells = append(cells, Cell{Off: l.Follows, Size: trampoline.WordSize})
	}
	return cells
}

// countsItself reports whether the metric's own word already says how often its code ran.
func (l *Layout) countsItself() bool {
	if l.Plan.Kind.Holds() {
		return false
	}
	for _, r := range l.Plan.Requests {
		if len(r.Guards) > 0 || len(r.Code) != 1 {
			return false
		}
		in := r.Code[0]
		if in.Op != pcl.OpAdd || in.Cond != nil || in.Expr == nil || in.Expr.Op != pcl.ExConst || in.Expr.Value != 1 {
			return false
		}
	}
	return true
}

func (l *Layout) isActivationFlag(v int) bool {
	for _, r := range l.Plan.Requests {
		for _, in := range r.Code {
			if in.Var == v && in.Op == pcl.OpFlagEnter {
				return true
			}
		}
	}
	return false
}

// counter is the cell that says how often probes ran.
func (l *Layout) counter() int32 {
	if l.Hits < 0 {
		return l.Cells[0].Off
	}
	return l.Hits
}

// hitsOf is the cell that counts executions of a request; -1 if none does.
func (l *Layout) hitsOf(r *pcl.Request) int32 {
	if r.Follows && l.Follows != 0 {
		return l.Follows
	}
	return l.Hits
}

// Quantity is the word of the rows that a plan's probes read.
func Quantity(plan *pcl.Plan) threadstats.Quantity {
	if plan.Kind != pcl.Kernel {
		return threadstats.OffCPU
	}
	q, _ := threadstats.ByName(plan.KernelName)
	return q
}
