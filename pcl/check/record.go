package check

import (
	"culprit/pcl"
	"culprit/pcl/syntax"
	"culprit/pcl/types"
)

// checkRecord checks a daemon, process or visi definition. Nothing reads them yet.
func (b *builder) checkRecord(d *syntax.Def) error {
	have, err := uniqueItems(d)
	if err == nil {
		err = require(d, have, "command")
	}
	return err
}

// checkTrace checks a trace; nothing can record events yet, which CompileTrace says.
func (b *builder) checkTrace(d *syntax.Def) error {
	have, err := uniqueItems(d)
	if err == nil {
		err = require(d, have, "at", "record")
	}
	if err != nil {
		return err
	}
	c := &codeChecker{b: b, own: d.Name, ownType: types.Void, out: &pcl.Body{}, vars: map[string]types.Type{}, lists: map[string]bool{}}
	if t := c.expr(have["at"].Expr); c.err == nil && !t.IsPoint() {
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
	b.defs.Traces[d.Name] = &pcl.Unsupported{Pos: d.Pos, What: "the trace " + d.Name, Needs: traceNeeds}
	return nil
}
