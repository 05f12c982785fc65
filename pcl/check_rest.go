package pcl

import "culprit/pcl/syntax"

// A Record is a daemon, process or visi definition: named values. Numbers and booleans are as written.
type Record struct {
	Name   string
	Values map[string]string
}

func (b *builder) checkRecord(d *syntax.Def) error {
	have, err := uniqueItems(d)
	if err == nil {
		err = require(d, have, "command")
	}
	if err != nil {
		return err
	}
	r := Record{Name: d.Name, Values: map[string]string{}}
	for key, it := range have {
		r.Values[key] = it.Values[0].Text
	}
	b.lib.records[d.Keyword] = append(b.lib.records[d.Keyword], r)
	return nil
}

const traceNeeds = "event records in ring buffers of the threads"

// checkTrace checks a trace; nothing can record events yet, which CompileTrace says.
func (b *builder) checkTrace(d *syntax.Def) error {
	have, err := uniqueItems(d)
	if err == nil {
		err = require(d, have, "at", "record")
	}
	if err != nil {
		return err
	}
	c := &codeChecker{b: b, own: d.Name, ownType: tVoid, out: &body{}, vars: map[string]typ{}, lists: map[string]bool{}}
	if t := c.expr(have["at"].Expr); c.err == nil && !t.isPoint() {
		c.fail(have["at"].Expr.Pos, "found %v, expected a point such as $function(\"name\").entry", t)
	} else {
		c.point = t
	}
	for _, e := range have["record"].Exprs {
		c.expr(e)
	}
	if c.err != nil {
		return c.err
	}
	b.lib.traces[d.Name] = &Unsupported{Pos: d.Pos, What: "the trace " + d.Name, Needs: traceNeeds}
	return nil
}

// CompileTrace would compile a trace; this version answers with an *Unsupported for every trace that is defined.
func (l *Library) CompileTrace(name string) error {
	if u, ok := l.traces[name]; ok {
		return u
	}
	return errorAt(syntax.Pos{}, "no trace of the name %q is defined", name)
}
