package check

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"culprit/pcl"
	"culprit/pcl/syntax"
)

// A builder turns trees into a Library.
type builder struct {
	defs        pcl.Definitions        // what is checked so far
	byName      map[string]*pcl.Metric // by name, else by identifier; once all metrics are there
	problems    problemList
	order       map[string][]string                 // by keyword: names in order of first appearance
	candidates  map[string]map[string][]*syntax.Def // by keyword and name: in order of loading
	chosen      map[string]map[string]*syntax.Def   // by keyword and name: what is in force
	seq         map[*syntax.Def]int                 // order of loading
	unnamed     []*syntax.Def                       // tunable_constant and exclude
	lists       map[string]*pcl.List
	constraints map[string]*pcl.Constraint
	placed      map[string]*pcl.Hypothesis // those in force by name, once they are in order
	patterns    int                        // parts of regular expressions so far
}

func newBuilder() *builder {
	return &builder{
		defs:  pcl.Definitions{Tunables: pcl.NewTunables(), Traces: map[string]*pcl.Unsupported{}},
		order: map[string][]string{}, candidates: map[string]map[string][]*syntax.Def{}, chosen: map[string]map[string]*syntax.Def{},
		seq: map[*syntax.Def]int{}, lists: map[string]*pcl.List{}, constraints: map[string]*pcl.Constraint{},
	}
}

func (b *builder) problem(p Problem) { b.problems.add(p) }

func (b *builder) text(name, content string) {
	b.defs.Sources = append(b.defs.Sources, pcl.Source{Name: name, Text: content})
	tree, errs := syntax.Parse(name, content)
	for _, e := range errs {
		b.problem(Problem{Pos: e.Pos, Msg: e.Msg})
	}
	for _, d := range tree.Defs {
		b.seq[d] = len(b.seq)
		if d.Name == "" {
			b.unnamed = append(b.unnamed, d)
			continue
		}
		byName := b.candidates[d.Keyword]
		if byName == nil {
			byName = map[string][]*syntax.Def{}
			b.candidates[d.Keyword], b.chosen[d.Keyword] = byName, map[string]*syntax.Def{}
		}
		if byName[d.Name] == nil {
			b.order[d.Keyword] = append(b.order[d.Keyword], d.Name)
		}
		byName[d.Name] = append(byName[d.Name], d)
	}
}

// build checks in the order in which definitions lean on each other.
func (b *builder) build() *pcl.Library {
	b.tunables()
	b.resolve("resourceList", b.checkList)
	b.resolve("constraint", b.checkConstraint)
	b.resolve("metric", b.checkMetric)
	b.dropRenamed()
	b.resolve("hierarchy", b.checkHierarchy)
	b.resolve("hypothesis", b.checkHypothesis)
	b.orderHypotheses()
	b.resolve("expect", b.checkExpect)
	b.resolve("trace", b.checkTrace)
	for _, keyword := range []string{"daemon", "process", "visi"} {
		b.resolve(keyword, b.checkRecord)
	}
	b.collect()
	return pcl.NewLibrary(b.defs)
}

// collect puts what is in force and not listed yet into the definitions, in order of loading.
func (b *builder) collect() {
	for _, name := range b.order["constraint"] {
		if c := b.constraints[name]; c != nil {
			b.defs.Constraints = append(b.defs.Constraints, c)
		}
	}
	for _, name := range b.order["resourceList"] {
		if l := b.lists[name]; l != nil {
			b.defs.Listed = append(b.defs.Listed, l)
		}
	}
	for _, byName := range b.chosen {
		b.defs.Trees = slices.AppendSeq(b.defs.Trees, maps.Values(byName))
	}
	slices.SortFunc(b.defs.Trees, func(x, y *syntax.Def) int { return b.seq[x] - b.seq[y] })
}

// resolve puts the latest sound definition of each name in force.
func (b *builder) resolve(keyword string, check func(*syntax.Def) error) {
	for _, name := range b.order[keyword] {
		defs := b.candidates[keyword][name]
		for i, d := range slices.Backward(defs) {
			err := check(d)
			if err == nil {
				b.chosen[keyword][name] = d
				break
			}
			p := asProblem(d, err)
			if i > 0 {
				p.Msg += "; the earlier definition is tried"
			}
			b.problem(p)
		}
	}
}

func asProblem(d *syntax.Def, err error) Problem {
	var e *syntax.Error
	if !errors.As(err, &e) {
		return Problem{Pos: d.Pos, Msg: err.Error()}
	}
	p := Problem{Pos: e.Pos, Msg: e.Msg}
	if prefix := d.Keyword + " " + d.Name + ": "; d.Name != "" && !hasPrefix(p.Msg, prefix) {
		p.Msg = prefix + p.Msg
	}
	return p
}

func hasPrefix(s, prefix string) bool { return len(s) >= len(prefix) && s[:len(prefix)] == prefix }

// said is the comment behind a tunable constant, or above it where it has none behind.
func said(d *syntax.Def, it *syntax.Item) string {
	c := it.Comments
	if !d.Braced {
		c = d.Comments
	}
	lines := c.Lead
	if c.Trail != "" {
		lines = []string{c.Trail}
	}
	var words []string
	for _, l := range lines {
		words = append(words, strings.Fields(strings.TrimLeft(l, "/"))...)
	}
	return strings.Join(words, " ")
}

// tunables also reads the excludes: neither has names that could be replaced as a whole.
func (b *builder) tunables() {
	for _, d := range b.unnamed {
		if d.Keyword == "exclude" {
			if err := b.checkExclude(d); err != nil {
				b.problem(asProblem(d, err))
			}
			continue
		}
		for _, it := range d.Items {
			b.defs.Tunables.Define(it.Values[0].Text, it.Values[1].Num, it.Pos, said(d, it))
		}
	}
}

// dropRenamed: of two metrics with one name string the one that was loaded last is in force.
func (b *builder) dropRenamed() {
	last := map[string]*pcl.Metric{}
	for _, m := range b.defs.Metrics {
		if old := last[m.Name]; old == nil || b.seq[old.Def] < b.seq[m.Def] {
			last[m.Name] = m
		}
	}
	b.defs.Metrics = slices.DeleteFunc(b.defs.Metrics, func(m *pcl.Metric) bool { return last[m.Name] != m })
	b.byName = pcl.IndexMetrics(b.defs.Metrics)
}

// metric finds a metric by its name, else by its identifier; valid once all metrics are there.
func (b *builder) metric(name string) *pcl.Metric { return b.byName[name] }

// metricNames are the names of the metrics in order, for a suggestion.
func (b *builder) metricNames() []string {
	var out []string
	if len(b.defs.Metrics) > maxNames || b.problems.full() {
		return nil
	}
	for _, m := range b.defs.Metrics {
		out = append(out, m.Name)
	}
	return out
}
