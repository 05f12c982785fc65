package check

import (
	"regexp"
	"slices"
	"strings"

	"culprit/pcl/syntax"
	"culprit/pcl/types"
)

// borrowed are names that stand for something in other languages and tracers, with what PCL has instead.
var borrowed = map[string]string{
	"this": "$arg.this, in code at an .entry", "self": "$arg.self, in code at an .entry",
	"arg": "$arg[0]", "args": "$arg[0]", "arg0": "$arg[0]", "arg1": "$arg[1]", "arg2": "$arg[2]", "arg3": "$arg[3]", "argv": "$arg[1]",
	"ret": "$return", "retval": "$return", "result": "$return", "$ret": "$return", "$retval": "$return",
	"true": "1", "false": "0", "NULL": "0", "nullptr": "0", "None": "0", "nil": "0",
}

// unknownName is what is said of a name in an expression that means nothing.
func (c *codeChecker) unknownName(e *syntax.Expr) types.Type {
	if instead := borrowed[e.Text]; instead != "" {
		return c.fail(e.Pos, "found the unknown name %q, expected %s", e.Text, instead)
	}
	if e.Text == "operator" {
		return c.fail(e.Pos, `found the unknown name "operator", expected the name of an operator in a string, such as $function("operator+")`)
	}
	if t := template.FindString(e.Pos.File.Text[e.Pos.Off:]); t != "" {
		return c.fail(e.Pos, `found the template %s, expected $function("%s") for a point of it; code calls functions by plain names only`, t, t)
	}
	if e.Text == "$function" || e.Text == "$line" {
		return c.fail(e.Pos, `found %s without its arguments, expected $function("name") or $line("file.c", 120)`, e.Text)
	}
	known := slices.Concat(c.variables(), names(c.b, c.vars), names(c.b, c.b.lists), names(c.b, environment), []string{"$function", "$line"})
	return c.fail(e.Pos, "found the unknown name %q%s, expected a resourceList, a loop variable, a counter of the metric or a name such as $procedures%s", e.Text,
		syntax.DidYouMean(e.Text, known), c.declare(e.Text))
}

// template is how the name of a template of C++ or of something generic of Rust begins.
var template = regexp.MustCompile(`^\w+<[\w:, &*]+>`)

// unknownVariable is what is said of something that is changed and may not be.
func (c *codeChecker) unknownVariable(e *syntax.Expr) types.Type {
	known := c.variables()
	return c.fail(e.Pos, "found %q, expected a variable that may be changed here: %s%s%s", e.Text, strings.Join(known, ", "),
		syntax.DidYouMean(e.Text, known), c.declare(e.Text))
}

// declare says how a name becomes one that means something, unless a variable has a similar name: in code as a counter of the metric,
// elsewhere as a function of the target.
func (c *codeChecker) declare(name string) string {
	switch {
	case strings.HasPrefix(name, "$") || syntax.Closest(name, c.variables()) != "":
		return ""
	case c.point == types.Bad:
		return "; a function of the target is $function(\"" + name + "\")"
	case c.flag:
		return ""
	}
	return "; declare it in the metric: counter " + name + ";"
}

// reserved are names that calls in code cannot have: they mean something in tests of hypotheses and in expectations.
var reserved = []string{"max", "min"}

// calledName checks the name of a call of a function of the target, as far as that can be done without one.
func (c *codeChecker) calledName(e *syntax.Expr) bool {
	switch {
	case slices.Contains(reserved, e.Text):
		c.fail(e.Pos, "found %s in code, expected it in hypotheses and expectations only; put if (x > m) m = x; for m = max(m, x)", e.Text)
	case slices.Contains(syntax.Keywords, e.Text), slices.Contains(syntax.Kinds, e.Text), borrowed[e.Text] != "":
		c.fail(e.Pos, "found a call of %q, which is a word of the language, expected a function of the target or a primitive", e.Text)
	case c.b.lists[e.Text] != nil || slices.Contains(c.variables(), e.Text) || c.vars[e.Text] != types.Bad:
		c.fail(e.Pos, "found a call of %q, which is no function here, expected a function of the target or a primitive", e.Text)
	}
	return c.err == nil
}
