package image

import (
	"cmp"
	"fmt"
	"slices"

	"culprit/daemon/image/lazy"
)

// A Loop is a natural loop of a function: its head is passed in every turn.
type Loop struct {
	Name   string   // "loop_1", and "loop_1.1" for the first loop inside it
	Head   uint64   // address of the first instruction of the head
	Parent int      // index of the loop around it, -1 if there is none
	Depth  int      // 0 for an outermost loop
	Enter  []Edge   // the ways into it, all of which lead to the head
	Back   []Edge   // the ways from its end to the next turn
	Exit   []Edge   // the ways out; exceptions, returns and tail calls are not among them
	Leaves []uint64 // exits of the function inside it
	Pads   []uint64 // where the function goes on outside of it after an exception that comes out of it, or a longjmp
	body   map[int]bool
}

// maxBlocks bounds the functions whose loops are looked for; interpreters have some thousands of blocks.
const maxBlocks = 1 << 16

// Loops finds the loops of a function by dominators and back edges, larger ones first. *ErrRefused says
// why they are not known: control may go where the code does not show.
func (o *Object) Loops(f *Function, w *Flow) (loops []Loop, err error) {
	defer lazy.Guard(&err, o.elf.Name()+": "+f.Name)
	if w.Hidden != "" {
		return nil, &ErrRefused{Point: f.Name, Reason: w.Hidden}
	}
	g := o.graphOf(f, w)
	if len(g.blocks) > maxBlocks {
		return nil, &ErrRefused{Point: f.Name, Reason: fmt.Sprintf("it has more than %d blocks", maxBlocks)}
	}
	if len(g.blocks) == 0 {
		return nil, nil
	}
	idom, order := g.dominators()
	byHead := map[int]*Loop{}
	for _, u := range order {
		for k, h := range g.blocks[u].succ {
			if !dominates(idom, h, u) {
				continue
			}
			l := byHead[h]
			if l == nil {
				l = &Loop{Head: w.Insts[g.blocks[h].lo].Addr, body: map[int]bool{h: true}}
				byHead[h] = l
			}
			l.Back = append(l.Back, g.blocks[u].edges[k])
			g.grow(l, u)
		}
	}
	for _, l := range byHead {
		g.doors(l, idom, func(c CallSite) bool { return o.isSetjmp(c) })
		loops = append(loops, *l)
	}
	nest(loops)
	return loops, nil
}

// dominators gives the immediate dominator of every block that can be reached from the entry (-1 for the others), and those
// blocks in reverse postorder (Cooper, Harvey and Kennedy, A Simple, Fast Dominance Algorithm).
func (g *graph) dominators() (idom, order []int) {
	order = g.reversePostorder()
	rank := make([]int, len(g.blocks))
	idom = make([]int, len(g.blocks))
	for i := range idom {
		idom[i] = -1
	}
	for i, b := range order {
		rank[b] = i
	}
	idom[order[0]] = order[0]
	for changed := true; changed; {
		changed = false
		for _, b := range order[1:] {
			d := -1
			for _, p := range g.blocks[b].pred {
				switch {
				case idom[p] < 0:
				case d < 0:
					d = p
				default:
					d = meet(idom, rank, d, p)
				}
			}
			if d != idom[b] {
				idom[b], changed = d, true
			}
		}
	}
	return idom, order
}

func meet(idom, rank []int, a, b int) int {
	for a != b {
		for rank[a] > rank[b] {
			a = idom[a]
		}
		for rank[b] > rank[a] {
			b = idom[b]
		}
	}
	return a
}

func (g *graph) reversePostorder() (order []int) {
	type frame struct{ b, next int }
	seen := make([]bool, len(g.blocks))
	stack := []frame{{0, 0}}
	seen[0] = true
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next == len(g.blocks[top.b].succ) {
			order = append(order, top.b)
			stack = stack[:len(stack)-1]
			continue
		}
		s := g.blocks[top.b].succ[top.next]
		top.next++
		if !seen[s] {
			seen[s] = true
			stack = append(stack, frame{s, 0})
		}
	}
	slices.Reverse(order)
	return order
}

func dominates(idom []int, a, b int) bool {
	for idom[b] >= 0 {
		if a == b {
			return true
		}
		if idom[b] == b {
			return false
		}
		b = idom[b]
	}
	return false
}

// grow adds to a loop what leads to block u without passing the head.
func (g *graph) grow(l *Loop, u int) {
	work := []int{u}
	for len(work) > 0 {
		b := work[len(work)-1]
		work = work[:len(work)-1]
		if l.body[b] {
			continue
		}
		l.body[b] = true
		work = append(work, g.blocks[b].pred...)
	}
}

// doors finds the edges by which a loop is entered and left, as far as control can come there.
func (g *graph) doors(l *Loop, idom []int, returnsTwice func(CallSite) bool) {
	for i := range g.blocks {
		if idom[i] < 0 {
			continue
		}
		for k, to := range g.blocks[i].succ {
			e := g.blocks[i].edges[k]
			switch {
			case !l.body[i] && l.body[to]:
				l.Enter = append(l.Enter, e)
			case l.body[i] && !l.body[to] && e.Kind != EdgeThrows:
				l.Exit = append(l.Exit, e)
			case l.body[i] && !l.body[to] && !slices.Contains(l.Pads, e.To):
				l.Pads = append(l.Pads, e.To)
			}
		}
	}
	for _, c := range g.flow.Calls {
		if b := g.blockOf(c.Ret); b >= 0 && !l.body[b] && returnsTwice(c) {
			l.Pads = append(l.Pads, c.Ret)
		}
	}
	for _, x := range g.flow.Exits {
		if b := g.blockOf(x.Addr); b >= 0 && l.body[b] {
			l.Leaves = append(l.Leaves, x.Addr)
		}
	}
}

// blockOf finds the block that an instruction is in, -1 if there is none.
func (g *graph) blockOf(addr uint64) int {
	for i := range g.blocks {
		b := &g.blocks[i]
		if addr >= g.flow.Insts[b.lo].Addr && addr <= g.flow.Insts[b.hi-1].Addr {
			return i
		}
	}
	return -1
}

// nest sorts loops by size, finds their parents and names them.
func nest(loops []Loop) {
	slices.SortFunc(loops, func(a, b Loop) int {
		if d := len(b.body) - len(a.body); d != 0 {
			return d
		}
		return cmp.Compare(a.Head, b.Head)
	})
	for i := range loops {
		loops[i].Parent = -1
		for j := i - 1; j >= 0; j-- { // the smallest that has its head
			if within := len(loops[j].body) > len(loops[i].body) && insideOf(loops[i].body, loops[j].body); within {
				loops[i].Parent = j
				break
			}
		}
	}
	number(loops)
}

func insideOf(a, b map[int]bool) bool {
	for k := range a {
		if !b[k] {
			return false
		}
	}
	return true
}

// number names the loops: the nth of those inside the same loop, in order of address.
func number(loops []Loop) {
	order := make([]int, len(loops))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(loops[a].Head, loops[b].Head) })
	count := map[int]int{}
	var name func(i int)
	name = func(i int) {
		if loops[i].Name != "" {
			return
		}
		p := loops[i].Parent
		count[p]++
		if p < 0 {
			loops[i].Name = fmt.Sprintf("loop_%d", count[p])
			return
		}
		name(p)
		loops[i].Depth = loops[p].Depth + 1
		loops[i].Name = fmt.Sprintf("%s.%d", loops[p].Name, count[p])
	}
	for _, i := range order {
		name(i)
	}
}
