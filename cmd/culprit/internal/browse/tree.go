package browse

import (
	"slices"
	"strings"

	"culprit/consultant"
	"culprit/grid"
)

// maxRows bounds the tree on the screen; a search may have tens of thousands of nodes.
const maxRows = 2000

// A row is one line of the search history graph drawn as a tree. A node with several parents is drawn in full below one of
// them, and as a shadow (no children of its own) below the others.
type row struct {
	Node     int
	Depth    int
	Text     string // what the refinement changed; clean
	Value    string // value against threshold, or the reason; clean
	State    consultant.State
	Axis     string
	Shadow   bool
	Children int  // how many children it has
	Open     bool // they are shown
}

// A graph is the search history with what a tree needs of it.
type graph struct {
	nodes    []consultant.Node
	at       map[int]int   // ID to index
	children map[int][]int // ID to IDs, most important first
}

func newGraph(nodes []consultant.Node) *graph {
	g := &graph{nodes: nodes, at: make(map[int]int, len(nodes)), children: map[int][]int{}}
	for i := range nodes {
		g.at[nodes[i].ID] = i
	}
	for i := range nodes {
		for _, p := range nodes[i].Parents {
			g.children[p] = append(g.children[p], nodes[i].ID)
		}
	}
	for _, ids := range g.children {
		slices.SortFunc(ids, func(a, b int) int { return byImportance(g.node(a), g.node(b)) })
	}
	return g
}

// node returns the node of an ID; nil if there is none.
func (g *graph) node(id int) *consultant.Node {
	if i, ok := g.at[id]; ok {
		return &g.nodes[i]
	}
	return nil
}

// rows flattens the graph from its roots. closed holds the nodes whose children the user has folded away. cut says that
// there were more rows than maxRows.
func (g *graph) rows(closed map[int]bool) (list []row, cut bool) {
	seen := make(map[int]bool, len(g.nodes))
	var walk func(id, parent, depth int)
	walk = func(id, parent, depth int) {
		if len(list) >= maxRows {
			cut = true
			return
		}
		r := g.row(id, parent, depth)
		r.Shadow = seen[id]
		r.Open = !r.Shadow && !closed[id] && r.Children > 0
		list = append(list, r)
		seen[id] = true
		if !r.Open {
			return
		}
		for _, c := range g.children[id] {
			walk(c, id, depth+1)
		}
	}
	for i := range g.nodes {
		if g.isRoot(&g.nodes[i]) {
			walk(g.nodes[i].ID, 0, 0)
		}
	}
	return list, cut
}

// isRoot reports whether a node has no parent that is known.
func (g *graph) isRoot(n *consultant.Node) bool {
	return !slices.ContainsFunc(n.Parents, func(p int) bool { return g.node(p) != nil })
}

func (g *graph) row(id, parent, depth int) row {
	n := g.node(id)
	r := row{Node: id, Depth: depth, State: n.State, Axis: n.Axis, Children: len(g.children[id]), Value: valueText(n)}
	switch {
	case depth == 0 || n.Axis == "why":
		r.Text = clean(n.Hypothesis)
	case n.Axis == "when":
		r.Text = "phase " + clean(n.Phase.Name)
	default:
		r.Text = clean(narrowed(n.Focus, g.node(parent)))
	}
	return r
}

// narrowed names the parts of a focus that are not those of the parent: what the refinement has changed.
func narrowed(f grid.Focus, parent *consultant.Node) string {
	if parent == nil {
		return f.String()
	}
	before, now := parent.Focus.Map(), f.Map()
	var parts []string
	for h := range grid.NumHierarchies {
		if path := now[h.String()]; path != "" && path != before[h.String()] {
			parts = append(parts, path)
		}
	}
	if name, _, ok := f.Item(); ok && now[name] != before[name] {
		parts = append(parts, now[name])
	}
	if len(parts) == 0 {
		return f.String()
	}
	return strings.Join(parts, ",")
}

// letter is the state as one letter, for screens without colour.
func letter(s consultant.State) byte {
	switch s {
	case consultant.True:
		return 'T'
	case consultant.False:
		return 'F'
	case consultant.Testing:
		return 't'
	case consultant.Queued:
		return 'q'
	case consultant.Deferred:
		return 'd'
	case consultant.Refused:
		return 'R'
	case consultant.Pruned:
		return 'p'
	case consultant.OverBudget:
		return '$'
	}
	return '.'
}
