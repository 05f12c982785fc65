package cases

import (
	"fmt"
	"strings"

	"culprit/pcl/syntax"
)

// Syntax are texts that the parser refuses.
func Syntax() []Problem {
	many := func(s string, n int) string { return strings.Repeat(s, n) }
	const body = `constraint c /Code is counter { `
	return []Problem{
		{"definition", `metrik m { }`, ""},
		{"not a definition", `17`, ""},
		{"forgotten name", "visi\nvisi v { command \"x\"; }", ""},
		{"name with a dollar", `visi $v { }`, ""},
		{"no opening brace", `visi v command`, ""},
		{"no closing brace", `visi v { command "x";`, ""},
		{"unknown item", `visi v { comand "x"; }`, ""},
		{"unknown item of a metric", `metric m { naem "m"; }`, ""},
		{"unknown item of a daemon", `daemon d { hots "x"; }`, ""},
		{"unknown item of a process", `process p { autostart true; }`, ""},
		{"unknown item of a list", `resourceList l is int { itms { 1 }; }`, ""},
		{"unknown item of a hypothesis", `hypothesis h { tset 1 > 0; }`, ""},
		{"unknown item of a hierarchy", `hierarchy h { itm "x" is { "/Code" }; }`, ""},
		{"unknown item of a trace", `trace t { when 1; }`, ""},
		{"no semicolon", `visi v { command "x" }`, ""},
		{"a name", `process p { daemon "x"; }`, ""},
		{"a string", `visi v { command x; }`, ""},
		{"a whole number", `visi v { force 1.5; }`, ""},
		{"true or false", `process p { autoStart maybe; }`, ""},
		{"a name or a string", `daemon d { host 1; }`, ""},
		{"kind of a list", `resourceList l is procedures { }`, ""},
		{"no is", `resourceList l procedure { }`, ""},
		{"item of a list", `resourceList l is procedure { items { x } }`, ""},
		{"pattern of a list", `resourceList l is procedure { items { glob x } }`, ""},
		{"no brace of a list", `resourceList l is procedure { items "x"; }`, ""},
		{"separator of a list", `resourceList l is procedure { items { "x" "y" } }`, ""},
		{"end of a list", `resourceList l is procedure { items { "x", `, ""},
		{"flavor", `metric m { flavor { "c" }; }`, ""},
		{"item of a hierarchy", `hierarchy h { item x is { "/Code" }; }`, ""},
		{"separator of a record", `trace t { record { 1 2 }; }`, ""},
		{"tunable", `tunable_constant x 1;`, ""},
		{"value of a tunable", `tunable_constant "x" y;`, ""},
		{"exclude", `exclude libc;`, ""},
		{"focus of an expectation", `expect e { h at Code; }`, ""},
		{"path of a constraint", `constraint c is counter { }`, ""},
		{"element of a path", `constraint c /Code/"x" is counter { }`, ""},
		{"long path", `constraint c ` + many("/a", 300) + ` is default;`, ""},
		{"kind of a constraint", `constraint c /Code is countr { }`, ""},
		{"kind of a base", `metric m { base is countr { } }`, ""},
		{"argument of a kind", `metric m { base is kernel(x); }`, ""},
		{"no argument of a kind", `metric m { base is kernel { } }`, ""},
		{"end of an argument", `metric m { base is kernel("x" { } }`, ""},
		{"nothing to be keyed by", `metric m { base is counter by { } }`, ""},
		{"kind of a histogram", `metric m { base is histogram(kernel) { } }`, ""},
		{"no body", `metric m { base is counter; }`, ""},
		{"statement", body + `apend preInsn $start.entry (* c = 1; *) }`, ""},
		{"end of a block", body, ""},
		{"variable of a loop", body + `foreach $f in x { } }`, ""},
		{"no in", body + `foreach f of x { } }`, ""},
		{"no condition", body + `if $start { } }`, ""},
		{"end of a condition", body + `if (1 { } }`, ""},
		{"when", body + `append before $start.entry (* c = 1; *) }`, ""},
		{"code", body + `append preInsn $start.entry constraind (* c = 1; *) }`, ""},
		{"end of code", body + `append preInsn $start.entry (* c = 1; `, ""},
		{"semicolon in code", body + `append preInsn $start.entry (* c = 1 *) }`, ""},
		{"block in code", body + `append preInsn $start.entry (* if (1) { c = 1; } *) }`, ""},
		{"else in code", body + `append preInsn $start.entry (* if (1) c = 1; else c = 0; *) }`, ""},
		{"loop in code", body + `append preInsn $start.entry (* while (1) c = 1; *) }`, ""},
		{"declaration in code", body + `append preInsn $start.entry (* int n = 1; *) }`, ""},
		{"expression", `expect e { 1 + ; }`, ""},
		{"end of a parenthesis", `expect e { (1; }`, ""},
		{"end of an index", `expect e { $arg[1; }`, ""},
		{"end of a call", `expect e { max(1; }`, ""},
		{"field", `expect e { a.1; }`, ""},
		{"metric at", `expect e { cpu@x > 1; }`, ""},
		{"big number", `expect e { 99999999999999999999; }`, ""},
		{"number without a sign", `metric m { base is counter { append preInsn f.entry (* m += 9223372036854775808; *) } }`, ""},
		{"big fraction", `expect e { ` + many("9", 400) + `.5; }`, ""},
		{"letters", `expect e { 12ab; }`, ""},
		{"dollar", `expect e { $; }`, ""},
		{"character", "metric \u00fc { }", ""},
		{"open string", "exclude \"abc\n;", ""},
		{"long word", `visi ` + many("v", 201) + ` { }`, ""},
		{"long string", `exclude "` + many("x", 70000) + `";`, ""},
		{"nesting", `expect e { ` + many("(", 300), ""},
		{"long expression", `expect e { 1` + many("+1", 600) + `; }`, ""},
		{"long text", many(" ", syntax.MaxText+1), ""},
		{"many words", many("visi v { command \"x\"; }\n", 20000), ""},
		{"many errors", many("junk;\n", 60), "and 10 more errors"},
	}
}

// Bounds are texts that hold too much of something.
func Bounds() []Problem {
	many := func(n int, format string) string {
		var sb strings.Builder
		for i := range n {
			fmt.Fprintf(&sb, format, i)
		}
		return sb.String()
	}
	const m = `metric m { name "m"; ` + Head
	return []Problem{
		{"many counters", m + many(101, "counter c%d; ") + `base is void; }`, ""},
		{"many constraints", m + many(101, "constraint c%d /Code is default; ") + `base is void; }`, ""},
		{"long pattern", `exclude regex "` + strings.Repeat("x", 1001) + `";`, ""},
		{"large pattern", `exclude regex "/Code/(` + strings.Repeat("x", 200) + `){999}";`, ""},
		{"many exclusions", many(1001, "exclude \"/Code/%d\";\n"), ""},
		{"many problems", many(210, "hypothesis h%d { test none > 1; }\n"), "and 10 more problems"},
		{"second refine", `hypothesis h { test cpu > 1; refine { Code, Process, Code } }`, ""},
		{"bad focus of an expectation", `expect e { cpu > 2 at "x"; }`, ""},
		{"item twice", `hierarchy h { item "x" is { "/Code" }; item "x" is { "/IO" }; }`, ""},
		{"path of an item", `hierarchy h { item "x" is { "Code" }; }`, ""},
		{"list as a field", m + `base is counter { append preInsn $modules.funcs.entry (* m++; *) } }`, ""},
		{"assigned field", m + `base is counter { append preInsn $start.entry (* $start.name = 1; *) } }`, ""},
		{"assigned void", m + `base is void { append preInsn $start.entry (* m = 1; *) } }`, ""},
		{"call of an environment name", m + `base is counter { append preInsn $start.entry (* $start(1); *) } }`, ""},
		{"argument of a call", m + `base is counter { append preInsn $start.entry (* weigh(1.5); *) } }`, ""},
		{"many arguments", m + `base is counter { append preInsn $start.entry (* weigh(1, 2, 3, 4, 5, 6, 7); *) } }`, ""},
		{"timer as an argument", `metric m { name "m"; ` + Head + ` base is wallTimer { append preInsn $start.entry (* weigh(m); *) } }`, ""},
		{"condition", m + `base is counter { if ("x") append preInsn $start.entry (* m++; *) } }`, ""},
		{"condition of code", m + `base is counter { append preInsn $start.entry (* if ("x") m++; *) } }`, ""},
		{"constraint without index", `constraint c /Code is counter { append preInsn $constraint.entry (* c = 1; *) }`, ""},
		{"indexed name", m + `base is counter { append preInsn $start[0].entry (* m++; *) } }`, ""},
		{"field of a type", m + `base is counter { append preInsn $start.entry (* m += $start->x; *) } }`, ""},
		{"function", m + `base is counter { append preInsn $function(1).entry (* m++; *) } }`, ""},
		{"line", m + `base is counter { append preInsn $line("x.c") (* m++; *) } }`, ""},
		{"call outside of code", m + `base is counter { append preInsn f(1).entry (* m++; *) } }`, ""},
		{"metric at a focus in code", m + `base is counter { append preInsn $start.entry (* m += cpu@"/"; *) } }`, ""},
		{"expression in a test", `hypothesis h { test cpu.x > 1; }`, ""},
	}
}
