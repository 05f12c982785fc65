package consultant

import (
	"fmt"
	"slices"

	"culprit/consultant/changes"
	"culprit/consultant/decide"
	"culprit/consultant/earlier"
	"culprit/consultant/experiments"
	"culprit/consultant/foci"
	"culprit/consultant/history"
	"culprit/consultant/hypotheses"
	"culprit/consultant/later"
	"culprit/consultant/links"
	"culprit/consultant/priority"
	"culprit/grid"
)

// The search history graph. Nodes are unique by hypothesis, focus and phase and never disappear; a node that is reached
// twice gets a second parent. Everything here is guarded by Search.mu.

// A hypothesis is one entry of the why axis.
type hypothesis = hypotheses.Hypothesis

// A nodeKey is the identity of a node.
type nodeKey struct {
	hyp   *hypothesis
	focus grid.Focus
	phase *phase
}

// A step is one way to refine a node.
type step struct {
	why     bool           // to the child hypotheses
	h       grid.Hierarchy // along a hierarchy
	through bool           // along Code, to what several children call that are false each by itself
}

// A node is one node with everything the search keeps about it.
type node struct {
	nodeKey
	place
	status
	priority.Priority
	demand
	experiment
	answer
	ways
	past earlier.Past
}

// A place is where a node is in the graph.
type place struct {
	id       int
	graph    *graph
	group    *group
	parents  []*node
	children []*node
	axis     string
	appeared float64        // s; it was not there before, 0 if that is not known
	via      grid.Hierarchy // of a "where" node: the hierarchy along which it was first reached
	wide     []grid.Focus   // the foci that cover its own, as foci.Widenings has them
	pairs    []grid.PairKey // what its test reads, in the order of the metrics
}

// A demand is what a node takes, and since when it waits for it.
type demand struct {
	cost    float64 // predicted fraction of the target's active time
	wait    priority.Wait
	again   float64 // s; after what time it was tried again when it had cost too much
	starved bool    // judged by stack samples since it found no room in the budget
	refused string  // likewise, since it may not be measured: why; "" if it may
}

// An experiment is one test of a node.
type experiment struct {
	batch   int     // number of the batch that started it
	started float64 // s
	next    float64 // s; bins that begin earlier have been read; +Inf until the pairs are enabled
	first   float64 // s; start of the first bin
	bins    int     // read
	win     decide.Window
	looked  []int // places of the metrics that samples tell beside probes
	run     decide.Run
	shares  [][]float64 // of a node judged by stack samples: what they said, a reading each
}

// An answer is what is known of the value of a node.
type answer struct {
	est        decide.Estimate
	confidence float64
	hist       history.History
	curve      changes.Curve // of the last minute; only in the global phase, and of shares of time
	tests      experiments.Log
	tier       grid.Tier
	sinceAt    float64 // s; when the value first held
	sinceOpen  bool    // the value held from the first recorded bin on: it may have begun earlier
	decidedAt  float64 // s; when it was concluded last, 0 if never
	falseAt    float64 // s; when it was last found false, 0 if never
	everTrue   bool
	retests    int
}

// The ways of a node are its refinements.
type ways struct {
	plan    []step              // that are left, in order
	asked   []step              // to be walked at once
	kids    map[step][]*node    // what each way led to
	looks   map[step]*later.Way // of the ways that are walked again
	crowded bool                // it was said that nothing more is added
	back    []*node             // ancestors that it calls back: what it does may be below them by another way
}

// A graph is the search history graph, with what is counted of it: who is watched, how many watched nodes need a pair, and which nodes belong together.
type graph struct {
	nodes    []*node // by id; node 1 is the first
	room     []node  // for those that come next: nodes that follow each other are read faster where they lie side by side
	index    map[nodeKey]*node
	groups   map[groupKey]*group
	watching []*node // by id
	users    map[grid.PairKey]int
	holding  []*node             // by id: that are true
	asking   []*node             // by id: that have ways to be walked at once; some may have none left
	within   map[nodeKey][]*node // by id: the true nodes of a hypothesis and phase that a focus covers properly
	copies   links.Copies[Node]  // by id
}

// A groupKey is what the nodes of a group have in common.
type groupKey struct {
	hyp   *hypothesis
	phase *phase
}

// A group holds the nodes of a hypothesis in a phase that are queued or tested, by id.
type group struct {
	open []*node
	busy links.Some[*node] // that selects code and is busy
	hot  links.Some[*node] // for which stack samples speak
}

// isBusy tells whether an answer about code can be expected soon.
func (g *group) isBusy(now float64) bool {
	return g.busy.Exists(g.open, now, func(n *node) bool { return n.focus.Depth(grid.Code) > 0 && n.busy(now) })
}

func (g *group) isHot(now float64) bool {
	return g.hot.Exists(g.open, now, func(n *node) bool {
		return n.Hot && (n.state == Queued || n.state == Testing && now-n.started < priority.Clear)
	})
}

// move keeps the list right when the state of a node of the group is about to change.
func (g *group) move(n *node, to State) {
	if was, is := n.state == Queued || n.state == Testing, to == Queued || to == Testing; was != is {
		g.open = toggle(g.open, n, is)
	}
	g.busy.Changed()
	g.hot.Changed()
}

func newGraph() *graph {
	return &graph{index: map[nodeKey]*node{}, groups: map[groupKey]*group{}, users: map[grid.PairKey]int{}, within: map[nodeKey][]*node{}}
}

// add returns the node of a key, creating it with the given axis if it is new, and makes parent one of its parents unless that would close a circle.
func (g *graph) add(k nodeKey, parent *node, axis string) *node {
	n := g.index[k]
	if n == nil {
		if n = g.create(k, axis); axis == "where" && parent != nil {
			n.via = foci.Differ(parent.focus, k.focus)
		}
	}
	if parent != nil && parent != n && !slices.Contains(n.parents, parent) && !n.above(parent) {
		n.parents = append(n.parents, parent)
		parent.children = append(parent.children, n)
		g.copies.Changed(n.id - 1)
	}
	return n
}

func (g *graph) create(k nodeKey, axis string) *node {
	gk := groupKey{k.hyp, k.phase}
	if g.groups[gk] == nil {
		g.groups[gk] = &group{}
	}
	if len(g.room) == 0 {
		g.room = make([]node, 64)
	}
	n := &g.room[0]
	g.room = g.room[1:]
	*n = node{nodeKey: k, status: untested(), ways: ways{kids: map[step][]*node{}}}
	n.place = place{id: len(g.nodes) + 1, graph: g, group: g.groups[gk], axis: axis, wide: foci.Widenings(k.focus), pairs: k.hyp.Pairs(k.focus)}
	g.nodes = append(g.nodes, n)
	n.group.open = append(n.group.open, n)
	n.group.busy.Changed()
	g.index[k] = n
	return n
}

// note keeps the counts right when a node is about to change.
func (g *graph) note(n *node, to State, watched bool) {
	n.group.move(n, to)
	g.copies.Changed(n.id - 1)
	if was, holds := n.state == True, to == True; was != holds {
		g.holding = toggle(g.holding, n, holds)
		for _, f := range foci.Covering(n.focus) {
			k := nodeKey{hyp: n.hyp, focus: f, phase: n.phase}
			if g.within[k] = toggle(g.within[k], n, holds); len(g.within[k]) == 0 {
				delete(g.within, k)
			}
		}
	}
	if n.watched == watched {
		return
	}
	g.watching = toggle(g.watching, n, watched)
	for _, k := range n.pairs {
		if watched {
			g.users[k]++
		} else if g.users[k]--; g.users[k] == 0 {
			delete(g.users, k)
		}
	}
}

func (n *node) number() int { return n.id }

// toggle puts a node into a list by id, or takes it out.
func toggle(list []*node, n *node, in bool) []*node { return links.Toggle(list, n, (*node).number, in) }

// usedBeside counts the watched nodes other than n that need a pair.
func (g *graph) usedBeside(k grid.PairKey, n *node) int {
	users := g.users[k]
	if n.watched && slices.Contains(n.pairs, k) {
		users--
	}
	return users
}

// get returns the node with an id.
func (g *graph) get(id int) (*node, error) {
	if id < 1 || id > len(g.nodes) {
		return nil, fmt.Errorf("no node %d in the search history graph; it has nodes 1 to %d", id, len(g.nodes))
	}
	return g.nodes[id-1], nil
}

// above tells whether n is m or an ancestor of m.
func (n *node) above(m *node) bool {
	found := false
	m.climb(func(p *node) bool { found = found || p == n; return !found })
	return found
}

func up(n *node) []*node { return n.parents }

// climb visits a node and its ancestors, each once, until visit returns false for a way up.
func (n *node) climb(visit func(*node) bool) {
	links.Walk(n, visit, up)
}

// descend visits a node and its descendants, each once, until visit returns false for a way down.
func (n *node) descend(visit func(*node) bool) {
	links.Walk(n, visit, func(m *node) []*node { return m.children })
}

// isRoot tells whether the node is "top" of its phase.
func (n *node) isRoot() bool { return n.hyp.IsRoot() }

// persistent nodes stay under watch whatever their state: the hypotheses of the first level, at the whole program.
func (n *node) persistent() bool {
	return n.focus.IsWhole() && n.hyp.IsFirst() && !n.phase.over()
}

// waiting tells that a node is to be tested as soon as that is possible.
func (n *node) waiting() bool { return n.state == Queued || n.state == Deferred }

// open tells that the node may still turn out true.
func (n *node) open() bool { return n.waiting() || n.state == Testing }

// ask adds a way to the ones to be walked at once.
func (n *node) ask(steps ...step) {
	for _, st := range steps {
		if !slices.Contains(n.asked, st) {
			n.asked = append(n.asked, st)
		}
	}
	if len(n.asked) > 0 {
		n.graph.asking = links.Insert(n.graph.asking, n, (*node).number)
	}
}

// walked tells whether a way has been walked or is about to be.
func (n *node) walked(st step) bool {
	_, done := n.kids[st]
	return done || slices.Contains(n.asked, st)
}

// trueParents are the parents that hold, tops left out.
func (n *node) trueParents() []*node {
	var list []*node
	for _, p := range n.parents {
		if p.state == True && !p.isRoot() {
			list = append(list, p)
		}
	}
	return list
}

// export copies the node for readers, and tells whether the copy stays right until the node moves.
func (n *node) export(out *Node) (stays bool) {
	parents := out.Parents
	*out = Node{
		ID: n.id, Axis: n.axis, Hypothesis: n.hyp.Name, Focus: n.focus, Phase: n.phase.Phase,
		State: n.state, Value: n.est.Value, Threshold: n.est.Threshold, Greater: n.hyp.Greater, Share: n.est.Share, Unit: n.hyp.Unit(),
		Confidence: n.confidence, Samples: n.bins, Since: n.sinceAt, Cost: n.cost, Tier: n.measuredBy(), Reason: n.reason,
		Refused: n.refused, History: n.hist.View(), Pinned: n.Pinned, Error: n.est.Error(), Tests: n.tests.All(),
	}
	if n.isInDoubt() {
		out.State, out.Reason = Testing, inDoubt
	}
	if len(parents) != len(n.parents) { // they only become more
		parents = make([]int, len(n.parents))
		for i, p := range n.parents {
			parents[i] = p.id
		}
	}
	out.Parents = parents
	return (n.state == Never || n.state == False) && !n.watched && !n.byShare()
}

const inDoubt = "it was ruled out, and its value is beyond the threshold now: not for long or not by enough to say"

// contradicted tells that the readings so far say the contrary of the answer, and not enough of them to change it.
func (n *node) contradicted() bool { return n.win.Len() > 0 && (n.over() || n.isInDoubt()) }

// isInDoubt tells that a false node has a value that speaks against the answer, but not enough to change it. Nobody is told then that it is ruled out.
func (n *node) isInDoubt() bool { return n.state == False && n.est.Margin > 0 }
