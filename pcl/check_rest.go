package pcl

import "culprit/pcl/syntax"

// checkRecord checks a daemon, process or visi definition. Nothing reads them yet.
func (b *builder) checkRecord(d *syntax.Def) error {
	have, err := uniqueItems(d)
	if err == nil {
		err = require(d, have, "command")
	}
	return err
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
