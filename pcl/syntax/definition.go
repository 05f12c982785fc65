package syntax

import (
	"maps"
	"slices"
)

// Keywords are the words that begin a definition.
var Keywords = []string{"daemon", "process", "visi", "tunable_constant", "exclude", "resourceList", "metric", "constraint",
	"hypothesis", "hierarchy", "trace", "expect"}

// A shape is how an item is written behind its first word.
type shape uint8

const (
	aWord       shape = iota
	aString           // "..."
	anInt             // 10
	aBool             // true
	aName             // a word or a string
	words             // { a, b }
	someStrings       // { "a", "b" }
	someItems         // { "a", glob "b*", regex "^c" } of a resourceList
	aTest             // EXPR
	somePoint         // EXPR
	someExprs         // { EXPR, .. }
	anItem            // "name" is { "/Code/..", .. }
	aConstraint
	aBase
)

// items says which items each definition has.
var items = map[string]map[string]shape{
	"daemon": {"command": aString, "remoteShell": aName, "host": aName, "dir": aName, "flavor": aName, "user": aName,
		"MPItype": aName, "mrnet_topology": aName},
	"process":      {"command": aString, "daemon": aWord, "host": aName, "user": aName, "dir": aName, "autoStart": aBool},
	"visi":         {"command": aString, "force": anInt, "limit": anInt, "metfocus": aString},
	"resourceList": {"items": someItems, "flavor": words, "library": aBool},
	"metric": {"name": aString, "units": aName, "unitsType": aWord, "aggregateOperator": aWord, "style": aWord, "flavor": words,
		"mode": aWord, "counter": aWord, "doc": aString, "parked": aWord, "samples": aWord, "constraint": aConstraint, "base": aBase},
	"hypothesis": {"parent": aWord, "at": aWord, "explained": aBool, "test": aTest, "given": aTest, "stake": aTest, "whole": aTest, "used": aTest, "units": aName, "refine": words, "suppress": someStrings, "expand": aWord, "label": aString,
		"explain": aString},
	"hierarchy": {"item": anItem},
	"trace":     {"at": somePoint, "record": someExprs},
}

// itemNames are the items of each definition, sorted.
var itemNames = func() map[string][]string {
	out := map[string][]string{}
	for keyword, allowed := range items {
		out[keyword] = slices.Sorted(maps.Keys(allowed))
	}
	return out
}()

// ItemNames are the items that a definition of this keyword may have, sorted; none for those that are written otherwise.
func ItemNames(keyword string) []string { return slices.Clone(itemNames[keyword]) }

func (p *parser) definition() *Def {
	d := &Def{Comments: Comments{Lead: p.lead()}, Pos: p.tok.pos}
	if !p.at(word) || !slices.Contains(Keywords, p.tok.text) {
		p.expectedDefinition()
		return d
	}
	p.braces = 0
	d.Keyword = p.next().text
	switch d.Keyword {
	case "exclude":
		p.exclude(d)
	case "tunable_constant":
		p.tunables(d)
	case "constraint":
		p.constraint(d)
	case "resourceList":
		p.named(d)
		p.expectWord("is")
		d.ListKind = p.expectWord("procedure", "module", "string", "int", "float")
		p.body(d)
	default:
		p.named(d)
		p.body(d)
	}
	d.Trail = p.trail()
	return d
}

func (p *parser) expectedDefinition() {
	if p.quiet {
		p.expected("")
		return
	}
	what := "a definition"
	if p.at(word) {
		what += DidYouMean(p.tok.text, Keywords)
	}
	p.expected(what + ": " + choices(Keywords))
}

func (p *parser) named(d *Def) {
	if p.tok.pos.Col == 1 && startsAlone(p.tok) { // the next definition, not a name
		p.expected("the name of the " + d.Keyword)
	}
	t := p.name("the name of the " + d.Keyword)
	d.Pos, d.Name = t.pos, t.text
}

// body reads the braces of a definition and its items.
func (p *parser) body(d *Def) {
	open := p.expect('{', `"{"`)
	for p.err == nil && !p.at('}') && !p.at(eof) {
		d.Items = append(d.Items, p.item(d.Keyword))
	}
	d.Tail = p.lead()
	p.closing('}', `"}"`, open)
}

func (p *parser) item(keyword string) *Item {
	it := &Item{Comments: Comments{Lead: p.lead()}, Pos: p.tok.pos}
	if keyword == "expect" {
		p.expectation(it)
	} else {
		allowed := items[keyword]
		it.Key = p.expectWord(itemNames[keyword]...)
		if p.err == nil {
			p.shaped(it, allowed[it.Key])
		}
	}
	it.Trail = p.trail()
	return it
}

func (p *parser) shaped(it *Item, s shape) {
	switch s {
	case aWord:
		it.Values = []Value{p.value("a name without quotes", Word)}
	case aString:
		it.Values = []Value{p.value(`a string in quotes, such as "x"`, String)}
	case anInt:
		it.Values = []Value{p.value("a whole number", Int)}
	case aBool:
		it.Values = []Value{p.value("true or false", Bool)}
	case aName:
		it.Values = []Value{p.value("a name or a string", Word, String)}
	case words, someStrings, someItems:
		p.set(it, s)
	case aTest, somePoint:
		it.Expr = p.expression()
	case someExprs:
		p.exprSet(it)
	case anItem:
		it.Values = []Value{p.value("the name of the item as a string", String)}
		p.expectWord("is")
		p.set(it, someStrings)
	case aConstraint:
		it.Def = &Def{Keyword: "constraint", Pos: p.tok.pos}
		p.constraint(it.Def)
		return
	case aBase:
		p.expectWord("is")
		it.Base = p.base()
		return
	}
	p.semicolon(it.Braced)
}

// set reads { value, .. }. Both "," and ";" separate; the last separator may be left out or written.
func (p *parser) set(it *Item, s shape) {
	it.Braced = true
	open := p.expect('{', `"{"`)
	for p.err == nil && !p.at('}') && !p.at(eof) {
		it.Values = append(it.Values, p.element(s))
		if !p.accept(',') && !p.accept(';') && !p.at('}') {
			p.expected(`"," or "}"`)
		}
	}
	p.closing('}', `"}"`, open)
}

func (p *parser) element(s shape) Value {
	switch s {
	case words:
		return p.value("a name without quotes", Word)
	case someStrings:
		return p.value(`a string in quotes, such as "x"`, String)
	}
	if p.isWord("glob") || p.isWord("regex") {
		pattern := p.next().text
		v := p.value("a pattern as a string", String)
		v.Pattern = pattern
		return v
	}
	return p.value(`a string, a number, glob "..." or regex "..."`, String, Int, Float)
}

func (p *parser) exprSet(it *Item) {
	it.Braced = true
	open := p.expect('{', `"{"`)
	for p.err == nil && !p.at('}') && !p.at(eof) {
		it.Exprs = append(it.Exprs, p.expression())
		if !p.accept(',') && !p.accept(';') && !p.at('}') {
			p.expected(`"," or "}"`)
		}
	}
	p.closing('}', `"}"`, open)
}

// expectation reads [not] HYPOTHESIS [at FOCUS]; or EXPR < EXPR [at FOCUS];
func (p *parser) expectation(it *Item) {
	it.Not = p.acceptWord("not")
	it.Expr = p.expression()
	if p.acceptWord("at") {
		it.Values = []Value{p.value("a focus as a string", String)}
	}
	p.semicolon(false)
}

func (p *parser) exclude(d *Def) {
	d.NoCase = p.acceptWord("noCase")
	d.Regex = p.acceptWord("regex")
	t := p.expect(text, `"noCase", "regex" or a path as a string`)
	d.Pos, d.Text = t.pos, t.text
	p.semicolon(false)
}

func (p *parser) tunables(d *Def) {
	if !p.at('{') {
		d.Items = []*Item{p.tunable(nil)}
		return
	}
	d.Braced = true
	open := p.next()
	for p.err == nil && !p.at('}') && !p.at(eof) {
		it := p.tunable(p.lead())
		it.Trail = p.trail()
		d.Items = append(d.Items, it)
	}
	d.Tail = p.lead()
	p.closing('}', `"}"`, open)
}

func (p *parser) tunable(lead []string) *Item {
	it := &Item{Comments: Comments{Lead: lead}, Pos: p.tok.pos}
	it.Values = []Value{p.value("the name of a tunable constant as a string", String)}
	it.Values = append(it.Values, p.value("a number, true or false", Int, Float, Bool))
	p.semicolon(false)
	return it
}

// constraint reads behind the word: NAME ; (inside a metric) or NAME PATH is ((default | key) ; | [replace] kind block).
func (p *parser) constraint(d *Def) {
	p.named(d)
	if p.at(';') {
		p.next()
		return
	}
	d.Path = p.path()
	p.expectWord("is")
	switch {
	case p.acceptWord("default"):
		p.semicolon(false)
	case p.acceptWord("key"):
		d.Key = true
		p.semicolon(false)
	case p.acceptWord("replace"):
		d.Replace = true
		d.Base = p.base()
	case p.isWord("counter"):
		d.Base = p.base()
	default:
		p.expectedOneOf([]string{"counter", "replace", "default", "key"})
	}
}

func (p *parser) path() []string {
	if !p.at('/') {
		p.expected(`";" or the path that is matched, such as /Code/*`)
	}
	var out []string
	for p.accept('/') {
		if p.accept('*') {
			out = append(out, "*")
			continue
		}
		out = append(out, p.name(`a name or "*"`).text)
		if len(out) > maxDepth {
			p.failAt(p.tok.pos, "found a path longer than %d, expected a shorter one", maxDepth)
		}
	}
	return out
}

// Kinds are the words that may follow "base is".
var Kinds = []string{"counter", "gauge", "wallTimer", "processTimer", "hwCounter", "hwTimer", "kernel", "histogram", "void"}

func (p *parser) base() *Base {
	b := &Base{Pos: p.tok.pos}
	b.Kind = p.expectWord(Kinds...)
	switch b.Kind {
	case "hwCounter", "hwTimer", "kernel":
		p.expect('(', `"("`)
		b.Arg = p.expect(text, "a name as a string").text
		p.expect(')', `")"`)
	case "histogram":
		p.expect('(', `"("`)
		b.Arg = p.expectWord("wallTimer", "processTimer", "counter")
		p.expect(')', `")"`)
	}
	if p.acceptWord("by") {
		b.By = p.name("the name of a counter").text
	}
	if (b.Kind == "kernel" || b.Kind == "void" || b.Kind == "hwCounter") && p.accept(';') {
		return b
	}
	if !p.at('{') {
		p.expected(`"{"`)
		return b
	}
	b.Body = p.statement()
	return b
}
