package consultant

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"culprit/consultant/hypotheses"
	"culprit/consultant/lifecycle"
	"culprit/grid"
)

// byVerb has the method of each transition.
var byVerb = map[lifecycle.Verb]func(n *node){
	"hold by definition": (*node).assume,
	"begin":              func(n *node) { n.begin(7, 3) },
	"become true":        func(n *node) { n.settle(true, false, 3) },
	"become false":       func(n *node) { n.settle(false, false, 3) },
	"be stopped":         func(n *node) { n.stop("why") },
	"be deferred":        func(n *node) { n.deferUntil(5, "why") },
	"be refused":         func(n *node) { n.refuse("why") },
	"be over budget":     func(n *node) { n.exceed("why") },
	"be skipped":         func(n *node) { n.skip("why") },
	"be given up":        func(n *node) { n.giveUp("why") },
	"be revived":         (*node).revive,
	"be queued again":    func(n *node) { n.requeue("why") },
	"be pruned":          func(n *node) { n.prune("why") },
	"be released":        func(n *node) { n.release("why") },
	"be suspended":       func(n *node) { n.suspend(5) },
	"be watched again":   func(n *node) { n.watchAgain(7, 3) },
}

// wayTo has the transitions that lead a new node to a state.
var wayTo = map[State][]lifecycle.Verb{
	Never: {"be given up"}, Queued: {}, Testing: {"begin"}, True: {"begin", "become true"}, False: {"begin", "become false"},
	Deferred: {"be deferred"}, Refused: {"be refused"}, Pruned: {"be pruned"}, OverBudget: {"be over budget"},
}

func nodeIn(s State) *node {
	g := newGraph()
	h := &hypothesis{Name: "one", Parent: hypotheses.Top(), Test: hypotheses.Top().Test}
	n := g.add(nodeKey{hyp: h, focus: grid.Whole(), phase: &phase{}}, nil, "why")
	for _, v := range wayTo[s] {
		byVerb[v](n)
	}
	return n
}

// try runs a transition and tells whether it was a bug.
func try(n *node, v lifecycle.Verb) (bug bool) {
	defer func() {
		if r := recover(); r != nil {
			text, ok := r.(string)
			if bug = ok && strings.HasPrefix(text, "BUG: "); !bug {
				panic(r)
			}
		}
	}()
	byVerb[v](n)
	return false
}

// TestTransitions goes over the whole table: each verb in each state does what the table says, or is a bug that changes nothing.
func TestTransitions(t *testing.T) {
	if len(byVerb) != len(lifecycle.Legal) {
		t.Errorf("%d methods, %d verbs in the table", len(byVerb), len(lifecycle.Legal))
	}
	reached := map[State]bool{Queued: true}
	for v := range lifecycle.Legal {
		for _, s := range lifecycle.States {
			n := nodeIn(s)
			if n.state != s {
				t.Fatalf("a node meant to be %s is %s", s, n.state)
			}
			before := n.status
			to, ok := lifecycle.Outcome(v, s)
			switch bug := try(n, v); {
			case bug == ok:
				t.Errorf("%s: a node that is %s: bug %v, legal %v", v, s, bug, ok)
			case bug && n.status != before:
				t.Errorf("%s: it was refused, and %+v is %+v", v, before, n.status)
			case !bug && n.state != to:
				t.Errorf("%s: %s became %s, not %s", v, s, n.state, to)
			}
			reached[n.state] = true
			checkStatus(t, n)
		}
	}
	for _, s := range lifecycle.States {
		if !reached[s] {
			t.Errorf("no transition leads to %s", s)
		}
	}
}

// checkStatus holds what is true of a node in every state, and that the counts of its graph are right.
func checkStatus(t *testing.T, n *node) {
	t.Helper()
	answered := n.state == True || n.state == False
	switch {
	case n.watched && !answered && n.state != Testing,
		n.state == Testing && !n.watched,
		n.suspended && (!answered || n.watched),
		n.needless && n.state != Never,
		n.reason == "" && slices.Contains([]State{Never, Deferred, Refused, Pruned, OverBudget}, n.state):
		t.Errorf("node %d: %+v", n.id, n.status)
	}
	if slices.Contains(n.graph.watching, n) != n.watched {
		t.Errorf("node %d is watched: %v, and the graph says otherwise", n.id, n.watched)
	}
}

// checkCounts compares what the graph counts with what a scan finds.
func checkCounts(t *testing.T, g *graph) {
	t.Helper()
	users, watched := map[grid.PairKey]int{}, 0
	var holding []*node
	open := map[*group][]*node{}
	for _, n := range g.nodes {
		checkStatus(t, n)
		if n.state == True {
			holding = append(holding, n)
		}
		if n.state == Queued || n.state == Testing {
			open[n.group] = append(open[n.group], n)
		}
		if len(n.asked) > 0 && !slices.Contains(g.asking, n) {
			t.Errorf("node %d asks for a way and is not listed", n.id)
		}
		var within []*node
		for _, m := range g.nodes {
			if m != n && m.state == True && m.hyp == n.hyp && m.phase == n.phase && n.focus.Covers(m.focus) {
				within = append(within, m)
			}
		}
		if !slices.Equal(within, g.within[n.nodeKey]) {
			t.Errorf("node %d covers %d true nodes, not %d", n.id, len(within), len(g.within[n.nodeKey]))
		}
		if n.watched {
			watched++
			for _, k := range n.pairs {
				users[k]++
			}
		}
	}
	for k, want := range users {
		if g.users[k] != want {
			t.Errorf("%v has %d users, not %d", k, g.users[k], want)
		}
	}
	if !slices.Equal(holding, g.holding) {
		t.Errorf("%d nodes are true, %d listed", len(holding), len(g.holding))
	}
	for _, group := range g.groups {
		if !slices.Equal(open[group], group.open) {
			t.Errorf("%d nodes of a group are open, %d listed", len(open[group]), len(group.open))
		}
	}
	byID := func(a, b *node) int { return a.id - b.id }
	if len(users) != len(g.users) || len(g.watching) != watched || !slices.IsSortedFunc(g.watching, byID) {
		t.Errorf("%d pairs are used, %d counted; %d nodes watched, %d listed", len(users), len(g.users), watched, len(g.watching))
	}
}

// TestOneFileChangesStates holds that no other file sets a field of a status.
func TestOneFileChangesStates(t *testing.T) {
	fields := []string{"state", "watched", "needless", "suspended", "status"}
	fset := token.NewFileSet()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(x ast.Node) bool {
			for _, field := range changed(x) {
				if !slices.Contains(fields, field) {
					continue
				}
				if name == "transitions.go" {
					found++
				} else {
					t.Errorf("%s sets %s: use a transition", fset.Position(x.Pos()), field)
				}
			}
			return true
		})
	}
	if found < 5 {
		t.Errorf("transitions.go sets %d fields: the test looks for the wrong names", found)
	}
}

// changed lists the fields that a piece of code assigns, has the address taken of, or fills in.
func changed(x ast.Node) (fields []string) {
	add := func(e ast.Expr) {
		if s, ok := e.(*ast.SelectorExpr); ok {
			fields = append(fields, s.Sel.Name)
		}
	}
	switch x := x.(type) {
	case *ast.AssignStmt:
		for _, e := range x.Lhs {
			add(e)
		}
	case *ast.UnaryExpr:
		if x.Op == token.AND {
			add(x.X)
		}
	case *ast.CompositeLit:
		if id, ok := x.Type.(*ast.Ident); ok && id.Name == "status" {
			fields = append(fields, "status")
		}
	}
	return fields
}
