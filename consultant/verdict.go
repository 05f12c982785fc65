package consultant

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"culprit/grid"
)

// Bottlenecks returns the deepest true nodes, worst first: those with no true descendant of the same hypothesis, and of
// which no other true node of the hypothesis is a part (a lock for which the threads of one function wait is reported
// with the function, not a second time without it).
func (s *Search) Bottlenecks() []Bottleneck {
	s.mu.Lock()
	deepest, list := s.deepest(), []Bottleneck{}
	for _, n := range deepest {
		list = append(list, Bottleneck{Node: n.id, Chain: n.chain(), Severity: n.severity(deepest), Object: objectName(n.focus)})
	}
	nodes := make(map[int]*node, len(deepest))
	for _, n := range deepest {
		nodes[n.id] = n
	}
	s.mu.Unlock()
	for i := range list {
		n := nodes[list[i].Node]
		if functionOf(n.focus) != "" {
			list[i].File, list[i].Line = s.cfg.World.Source(n.focus)
		}
		source := ""
		if list[i].File != "" {
			source = "(" + printable(list[i].File) + ":" + itoa(list[i].Line) + ")"
		}
		s.mu.Lock()
		list[i].Sentence = n.sentence(source)
		s.mu.Unlock()
	}
	sort.SliceStable(list, func(i, j int) bool { return list[i].Severity > list[j].Severity })
	return list
}

func (s *Search) deepest() []*node {
	var list []*node
	for _, n := range s.graph.nodes {
		if n.state != True || n.isRoot() || s.covered(n) != nil || n.shared() {
			continue
		}
		deeper := false
		n.descend(func(m *node) bool {
			deeper = deeper || m != n && m.hyp == n.hyp && m.state == True && !m.shared()
			return !deeper
		})
		if !deeper {
			list = append(list, n)
		}
	}
	return list
}

// wholeShare is how much of a node's value one thread must have for the thread to be worth naming.
const wholeShare = 0.9

// shared tells whether the node, or one above it, is the part of a single thread or process in what several have: then the
// node without that part says it better, and once.
func (n *node) shared() bool {
	found := false
	n.climb(func(m *node) bool {
		if m.via == grid.Process && m.focus.Depth(grid.Process) > 0 {
			for _, p := range m.parents {
				found = found || p.hyp == m.hyp && p.state == True && p.focus.Depth(grid.Process) < m.focus.Depth(grid.Process) &&
					!p.isRoot() && m.est.Value < wholeShare*p.est.Value
			}
		}
		return !found
	})
	return found
}

// severity makes nodes comparable: a share of time is itself; another quantity (bytes for each operation) counts as what of the share of the
// nearest node above it that is one is not accounted for by other places: the deepest nodes that do not lead to where it was found.
func (n *node) severity(deepest []*node) float64 {
	if n.hyp.fraction {
		return n.est.Value
	}
	var of *node
	n.climb(func(p *node) bool {
		if !p.hyp.fraction || p.state != True {
			return true
		}
		if of == nil || p.est.Value > of.est.Value {
			of = p
		}
		return false
	})
	if of == nil {
		return 0
	}
	rest := of.est.Value
	for _, d := range deepest {
		leads := func(p *node) bool { return p.focus == d.focus }
		if d != of && d.hyp == of.hyp && d.isBelow(func(p *node) bool { return p == of }) && !n.isBelow(leads) {
			rest -= d.est.Value
		}
	}
	return max(rest, 0)
}

// isBelow tells whether the search came to the node by such a one, or whether it is one itself.
func (n *node) isBelow(such func(*node) bool) (below bool) {
	n.climb(func(p *node) bool {
		below = below || such(p)
		return !below
	})
	return below
}

// chain is the way from the root to the node: over true parents where there are some, of several over the one with the
// largest value.
func (n *node) chain() []int {
	var ids []int
	for m := n; m != nil; m = m.bestParent() {
		ids = append(ids, m.id)
	}
	slices.Reverse(ids)
	return ids
}

func (n *node) bestParent() *node {
	var best *node
	better := func(p *node) bool {
		switch {
		case best == nil:
			return true
		case (p.state == True) != (best.state == True):
			return p.state == True
		case (p.hyp == n.hyp) != (best.hyp == n.hyp):
			return p.hyp == n.hyp
		}
		return p.hyp == best.hyp && p.est.Value > best.est.Value
	}
	for _, p := range n.parents {
		if better(p) {
			best = p
		}
	}
	return best
}

var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

// sentence says what was found: the label of the hypothesis with its placeholders filled in, what of the focus the label
// does not name, and the evidence.
func (n *node) sentence(source string) string {
	label := n.hyp.label
	if label == "" {
		label = n.hyp.name + " at {focus}: {value}"
	}
	fill := map[string]string{
		"{percent}": percent(n.est.Value), "{value}": n.hyp.valueText(n.est.Value),
		"{threshold}": n.hyp.valueText(n.est.Threshold), "{function}": n.functionText(), "{source}": source,
		"{object}": n.objectOr(), "{process}": processText(n.focus), "{since}": seconds(n.sinceAt),
		"{focus}": focusText(n.focus),
	}
	if fill["{process}"] == "" {
		fill["{process}"] = "the program"
	}
	if !strings.Contains(label, "{source}") && strings.Contains(label, "{function}") && source != "" {
		fill["{function}"] += " " + source
	}
	text := placeholder.ReplaceAllStringFunc(label, func(p string) string {
		if v, ok := fill[p]; ok {
			return v
		}
		return p
	})
	text = capital(tidy(text+n.missing(label, source)), !strings.HasPrefix(label, "{") || !n.choosesCode())
	if items := n.withinItem(); items != "" {
		text += " (" + items + ")"
	}
	since := ", since " + seconds(n.sinceAt)
	if strings.Contains(label, "{since}") {
		since = ""
	}
	if n.phase.index > 0 {
		since += " in phase " + printable(n.phase.Name)
	}
	return fmt.Sprintf("%s%s; %s", text, since, n.basis())
}

// objectOr names the object, or what kind of thing it would be.
func (n *node) objectOr() string {
	if o := n.objectText(); o != "" {
		return o
	}
	switch n.hyp.kind {
	case "sync":
		return "other threads"
	case "io":
		return "files, sockets or pipes"
	}
	return "memory"
}

// functionText names the function of the node's focus. One that the program's symbols do not name gets the nearest named
// function that it is called from.
func (n *node) functionText() string {
	text := functionText(n.focus)
	if item := n.itemText(grid.Code); item != "" {
		return item
	}
	if !nameless(functionOf(n.focus)) {
		return text
	}
	for m := n.bestParent(); m != nil; m = m.bestParent() {
		if f := functionOf(m.focus); f != "" && !nameless(f) {
			return text + " (below " + printable(f) + ")"
		}
	}
	return text
}

// nameless tells whether a function is called by its address, as in "[redis-server+0x1613d0]".
func nameless(function string) bool { return strings.HasPrefix(function, "[") }

// missing names the parts of the focus that the label leaves out.
func (n *node) missing(label, source string) string {
	if strings.Contains(label, "{focus}") {
		return ""
	}
	text := ""
	if o := n.objectText(); o != "" && !strings.Contains(label, "{object}") {
		text += " for " + o
	}
	if n.choosesCode() && !strings.Contains(label, "{function}") {
		text += " in " + n.functionText() + " " + source
	}
	if p := processText(n.focus); p != "" && !strings.Contains(label, "{process}") {
		text += " in " + p
	}
	return text
}

// capital begins a sentence with a capital unless it begins with a name of the program.
func capital(s string, words bool) string {
	r, size := utf8.DecodeRuneInString(s)
	if !words || size == 0 {
		return s
	}
	return string(unicode.ToUpper(r)) + s[size:]
}

// tidy removes what empty placeholders leave behind: double spaces, and spaces before punctuation.
func tidy(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	for _, p := range []string{",", ".", ";", ":"} {
		s = strings.ReplaceAll(s, " "+p, p)
	}
	return strings.TrimRight(s, ".,;: ")
}
