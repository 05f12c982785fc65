package pcl

import (
	"slices"
	"strings"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// items gives access to the items of a definition by their key and reports those that are there twice.
func uniqueItems(d *syntax.Def, many ...string) (map[string]*syntax.Item, error) {
	out := map[string]*syntax.Item{}
	for _, it := range d.Items {
		if slices.Contains(many, it.Key) {
			continue
		}
		if _, ok := out[it.Key]; ok {
			return nil, errorAt(it.Pos, "%s %s: found %q a second time, expected it once", d.Keyword, d.Name, it.Key)
		}
		out[it.Key] = it
	}
	return out, nil
}

func texts(it *syntax.Item) []string {
	if it == nil {
		return nil
	}
	var out []string
	for _, v := range it.Values {
		out = append(out, v.Text)
	}
	return out
}

// first is the text of the only value of an item, or "" if there is no such item.
func first(it *syntax.Item) string {
	if it == nil || len(it.Values) == 0 {
		return ""
	}
	return it.Values[0].Text
}

func require(d *syntax.Def, have map[string]*syntax.Item, keys ...string) error {
	var missing []string
	for _, k := range keys {
		if have[k] == nil {
			missing = append(missing, k)
		}
	}
	if len(missing) > 0 {
		return errorAt(d.Pos, "%s %s: expected the item %s, which is missing", d.Keyword, d.Name, strings.Join(missing, ", "))
	}
	return nil
}

// oneOf returns the index of the item's word, or the error that lists the words.
func oneOf(it *syntax.Item, allowed ...string) error {
	if w := it.Values[0]; !slices.Contains(allowed, w.Text) {
		return errorAt(w.Pos, "found %q, expected %s %s%s", w.Text, it.Key, strings.Join(allowed, " or "), syntax.DidYouMean(w.Text, allowed))
	}
	return nil
}

var listKinds = map[string][]syntax.ValueKind{"procedure": {syntax.String}, "module": {syntax.String}, "string": {syntax.String},
	"int": {syntax.Int}, "float": {syntax.Int, syntax.Float}}

func (b *builder) checkList(d *syntax.Def) error {
	have, err := uniqueItems(d)
	if err == nil {
		err = require(d, have, "items")
	}
	if err != nil {
		return err
	}
	l := &list{name: d.Name, kind: d.ListKind, items: have["items"].Values, flavors: texts(have["flavor"])}
	l.library = have["library"] != nil && have["library"].Values[0].Num != 0
	for _, v := range l.items {
		if !slices.Contains(listKinds[l.kind], v.Kind) {
			return errorAt(v.Pos, "resourceList %s: found %s, expected an item of kind %s", d.Name, v, l.kind)
		}
		if v.Pattern != "" && l.kind != "procedure" && l.kind != "module" {
			return errorAt(v.Pos, "resourceList %s: found a pattern, expected one only in lists of procedures and modules", d.Name)
		}
		if v.Pattern != "" {
			if err := b.checkPattern(v.Pos, v.Text, v.Pattern == "regex"); err != nil {
				return err
			}
		}
	}
	b.lists[d.Name] = l
	return nil
}

// levels are the names below the hierarchies whose first level is fixed.
var levels = map[grid.Hierarchy][]string{
	grid.SyncObject: {"Mutex", "RWLock", "CondVar", "Barrier", "Semaphore", "SpinLock", "Channel", "WaitGroup", "Message", "Futex", "Thread", "Window"},
	grid.IO:         {"File", "Socket", "Pipe"},
}

// maxPath is how many elements a match path may have below its hierarchy.
var maxPath = map[grid.Hierarchy]int{grid.Code: 2, grid.Machine: 1, grid.Process: 1, grid.SyncObject: 2, grid.IO: 1, grid.Memory: 3}

// constraintOf checks a constraint with a path. metric is the one it stands in, or nil.
func (b *builder) constraintOf(d *syntax.Def, metric *metric) (*constraint, error) {
	if d.Path == nil {
		return nil, errorAt(d.Pos, "constraint %s: found no path, expected the path that it matches, such as /Code/*", d.Name)
	}
	h, err := matchHierarchy(d)
	if err != nil {
		return nil, err
	}
	c := &constraint{ident: d.Name, pos: d.Pos, hierarchy: h, path: d.Path[1:], replace: d.Replace, key: d.Key}
	if err := c.checkKey(); err != nil {
		return nil, err
	}
	if n := maxPath[h]; len(c.path) > n {
		return nil, errorAt(d.Pos, "constraint %s: found %s, expected at most %d names below /%v (the path names the parent of what is chosen)",
			d.Name, c.pathString(), n, h)
	}
	if known := levels[h]; len(c.path) > 0 && known != nil && c.path[0] != "*" && !slices.Contains(known, c.path[0]) {
		return nil, errorAt(d.Pos, "constraint %s: found /%v/%s, expected one of %s%s", d.Name, h, c.path[0], strings.Join(known, ", "),
			syntax.DidYouMean(c.path[0], known))
	}
	if d.Base == nil {
		return c, nil
	}
	if d.Base.By != "" {
		return nil, errorAt(d.Base.Pos, "constraint %s: found \"by %s\", expected it in the base of a metric only", d.Name, d.Base.By)
	}
	check := &codeChecker{b: b, own: d.Name, flag: true, up: constraintTypes(c), holds: metric != nil && metric.Style == grid.SampledFunction}
	if c.replace {
		if metric == nil {
			return nil, errorAt(d.Pos, "constraint %s: found a replacement on its own, expected it inside of the metric whose base it replaces", d.Name)
		}
		check.own, check.flag, check.counters = metric.ident, false, metric.counters
	}
	c.body, err = check.checkBody(d.Base)
	return c, err
}

func (b *builder) checkConstraint(d *syntax.Def) error {
	c, err := b.constraintOf(d, nil)
	if err == nil {
		b.constraints[d.Name] = c
	}
	return err
}

func (b *builder) checkMetric(d *syntax.Def) error {
	have, err := uniqueItems(d, "constraint", "counter")
	if err == nil {
		err = require(d, have, "name", "units", "style", "aggregateOperator", "base")
	}
	if err != nil {
		return err
	}
	m := &metric{ident: d.Name, def: d, flavors: texts(have["flavor"])}
	if err = m.words(have); err != nil {
		return err
	}
	if err = m.readCounters(); err != nil {
		return err
	}
	check := &codeChecker{b: b, own: d.Name, counters: m.counters, holds: m.Style == grid.SampledFunction}
	if m.base, err = check.checkBody(have["base"].Base); err != nil {
		return err
	}
	if err = b.metricConstraints(m); err != nil {
		return err
	}
	if err = m.waitsForFlags(); err != nil {
		return err
	}
	if err = m.distribute(); err != nil {
		return err
	}
	if err = m.tellApart(); err != nil {
		return err
	}
	if err = m.holds(); err != nil {
		return err
	}
	b.metrics = append(b.metrics, m)
	return nil
}

// words reads the items that are one word or one string.
func (m *metric) words(have map[string]*syntax.Item) error {
	m.Name, m.Units, m.Doc = first(have["name"]), first(have["units"]), first(have["doc"])
	if m.Name == "" || strings.ContainsAny(m.Name, "@,/ \t") {
		return errorAt(have["name"].Values[0].Pos, "found the name %q, expected one without blanks, commas, slashes and @, such as my_calls", m.Name)
	}
	for key, allowed := range map[string][]string{"parked": {"excluded", "counted"}, "mode": {"developer", "normal"}} {
		if it := have[key]; it != nil {
			if err := oneOf(it, allowed...); err != nil {
				return err
			}
		}
	}
	m.noParked = first(have["parked"]) == "excluded"
	m.developer = first(have["mode"]) == "developer"
	return m.enums(have)
}

func (m *metric) enums(have map[string]*syntax.Item) error {
	if err := oneOf(have["style"], "EventCounter", "SampledFunction"); err != nil {
		return err
	}
	if err := oneOf(have["aggregateOperator"], "sum", "min", "max", "avg"); err != nil {
		return err
	}
	m.Style, _ = grid.ParseStyle(first(have["style"]))
	m.Aggregate, _ = grid.ParseAggregate(first(have["aggregateOperator"]))
	m.UnitsType = grid.Unnormalized
	if m.Style == grid.SampledFunction {
		m.UnitsType = grid.Sampled
	}
	if it := have["unitsType"]; it != nil {
		if err := oneOf(it, "normalized", "unnormalized", "sampled"); err != nil {
			return err
		}
		m.UnitsType, _ = grid.ParseUnitsType(first(it))
		if m.UnitsType == grid.Sampled && m.Style == grid.EventCounter {
			return errorAt(it.Values[0].Pos, "metric %s: found unitsType sampled, expected unnormalized or normalized: what a metric of style EventCounter counts is divided by time; "+
				"a value that holds has style SampledFunction", m.ident)
		}
	}
	return nil
}

func (m *metric) readCounters() error {
	for _, it := range m.def.Items {
		if it.Key != "counter" {
			continue
		}
		name := first(it)
		if name == m.ident || slices.Contains(m.counters, name) {
			return errorAt(it.Pos, "metric %s: found the counter %q a second time, expected another name", m.ident, name)
		}
		if len(m.counters) == maxCounters {
			return errorAt(it.Pos, "metric %s: found more than %d counters, expected less; each takes room for every thread", m.ident, maxCounters)
		}
		m.counters = append(m.counters, name)
	}
	return nil
}

func (b *builder) metricConstraints(m *metric) error {
	for _, it := range m.def.Items {
		if it.Def == nil {
			continue
		}
		c, err := b.metricConstraint(m, it.Def)
		if err != nil {
			return err
		}
		for _, other := range m.constraints {
			if other.ident == c.ident {
				return errorAt(it.Def.Pos, "metric %s: found the constraint %q a second time, expected it once", m.ident, c.ident)
			}
			if c.replace && other.replace && c.overlaps(other) {
				return errorAt(it.Def.Pos, "metric %s: found %s and %s, which replace the base at the same focus, expected one of them",
					m.ident, other.ident, c.ident)
			}
		}
		if slices.Contains(m.counters, c.ident) {
			return errorAt(it.Def.Pos, "metric %s: found a constraint and a counter of the name %q, expected different names", m.ident, c.ident)
		}
		if len(m.constraints) == maxConstraints {
			return errorAt(it.Def.Pos, "metric %s: found more than %d constraints, expected less; \"*\" in a path matches any name", m.ident, maxConstraints)
		}
		m.constraints = append(m.constraints, c)
	}
	return nil
}

func (b *builder) metricConstraint(m *metric, d *syntax.Def) (*constraint, error) {
	if d.Path != nil {
		return b.constraintOf(d, m)
	}
	if c, ok := b.constraints[d.Name]; ok {
		return c, nil
	}
	return nil, errorAt(d.Pos, "metric %s: found the unknown constraint %q%s, expected one that is defined", m.ident, d.Name,
		syntax.DidYouMean(d.Name, names(b, b.constraints)))
}
