package syntax

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Bounds on what is read. A text beyond them is refused with an error, never with a crash.
const (
	MaxText   = 10 << 20 // bytes of one text
	maxParts  = 100_000  // words, signs and comments of one text; some 20,000 lines
	maxWord   = 200      // bytes of one word
	maxString = 64 << 10 // bytes of one string
	maxDepth  = 200      // nesting of statements and expressions
	maxExpr   = 1000     // operands and operators of one expression
	maxErrors = 50       // errors reported for one text; the others are counted
)

// Parse reads a text. Each definition that has an error is left out of the tree and reported; the rest is there.
// name is what errors call the text, usually a file name.
func Parse(name, content string) (*Tree, []*Error) {
	f := &File{Name: name, Text: content}
	tree := &Tree{File: f}
	if len(content) > MaxText {
		return tree, []*Error{{Pos{f, 0, 1, 1}, fmt.Sprintf("found a text of %d bytes, expected at most %d; split it into several files", len(content), MaxText)}}
	}
	p := &parser{lex: lexer{file: f, line: 1, col: 1}}
	p.next()
	var errs errorList
	for p.tok.kind != eof {
		def := p.definition()
		if p.lex.full {
			break // in the middle of it
		}
		if p.err == nil {
			tree.Defs = append(tree.Defs, def)
			continue
		}
		errs.add(p.err)
		p.quiet = len(errs.list) == maxErrors
		p.recover()
	}
	tree.Tail = p.lead()
	if p.lex.full {
		errs.last = &Error{p.lex.here(), fmt.Sprintf("found a text of more than %d words and signs, expected less; what follows was not read: split it into several files", maxParts)}
	}
	return tree, errs.all()
}

// An errorList keeps the first errors of a text and counts the others.
type errorList struct {
	list []*Error
	more int
	next *Error // the first that was not kept
	last *Error // nil or one that is reported in any case
}

func (l *errorList) add(e *Error) {
	switch {
	case len(l.list) < maxErrors:
		l.list = append(l.list, e)
		return
	case l.next == nil:
		l.next = e
	}
	l.more++
}

func (l *errorList) all() []*Error {
	if l.more > 0 {
		l.list = append(l.list, &Error{l.next.Pos, fmt.Sprintf("and %d more errors, the first of them here", l.more)})
	}
	if l.last != nil {
		l.list = append(l.list, l.last)
	}
	return l.list
}

// A parser holds one token of lookahead. Its first error is sticky: from then on it sees only the end of the text, so
// that every loop ends, until recover.
type parser struct {
	lex    lexer
	tok    token
	prev   Pos // of the token before tok
	err    *Error
	failed token // what tok was when err was set
	braces int   // open braces since the definition began
	depth  int
	size   int  // of the current expression
	quiet  bool // errors are only counted: what they say is not worked out
}

func (p *parser) next() token {
	t := p.tok
	if p.err != nil {
		return t
	}
	switch t.kind {
	case '{':
		p.braces++
	case '}':
		p.braces--
	}
	p.prev = t.pos
	p.tok = p.lex.next()
	return t
}

func (p *parser) failAt(pos Pos, format string, args ...any) {
	if p.err != nil {
		return
	}
	p.err = &Error{Pos: pos}
	if !p.quiet {
		p.err.Msg = fmt.Sprintf(format, args...)
	}
	p.failed = p.tok
	p.tok = token{eof, "", p.tok.pos}
}

// expected fails: this was found, that was expected.
func (p *parser) expected(what string) {
	if p.err == nil && !p.quiet {
		what += p.advice()
	}
	p.failAt(p.tok.pos, "found %v, expected %s", p.tok, what)
}

func (p *parser) at(k kind) bool { return p.tok.kind == k }

func (p *parser) accept(k kind) bool {
	if p.at(k) {
		p.next()
		return true
	}
	return false
}

func (p *parser) expect(k kind, what string) token {
	if !p.at(k) {
		p.expected(what)
		return token{pos: p.tok.pos}
	}
	return p.next()
}

// closing reads what closes a bracket; if it is missing, the error names the bracket.
func (p *parser) closing(k kind, what string, open token) {
	if !p.at(k) && !p.quiet {
		what = fmt.Sprintf("%s for the %v at %d:%d", what, open, open.pos.Line, open.pos.Col)
	}
	p.expect(k, what)
}

func (p *parser) isWord(w string) bool { return p.at(word) && p.tok.text == w }

func (p *parser) acceptWord(w string) bool {
	if p.isWord(w) {
		p.next()
		return true
	}
	return false
}

func (p *parser) expectWord(words ...string) string {
	if p.at(word) && slices.Contains(words, p.tok.text) {
		return p.next().text
	}
	p.expectedOneOf(words)
	return ""
}

// expectedOneOf fails with the choices and, if the word is nearly one of them, with that one.
func (p *parser) expectedOneOf(words []string) {
	if p.quiet {
		p.expected("")
		return
	}
	what := choices(words)
	if p.at(word) {
		what += DidYouMean(p.tok.text, words)
	}
	p.expected(what)
}

func choices(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = `"` + w + `"`
	}
	if n := len(quoted); n > 1 {
		return strings.Join(quoted[:n-1], ", ") + " or " + quoted[n-1]
	}
	return quoted[0]
}

// name reads a plain name: no $.
func (p *parser) name(what string) token {
	if p.at(word) && !strings.HasPrefix(p.tok.text, "$") {
		return p.next()
	}
	p.expected(what)
	return token{pos: p.tok.pos}
}

// semicolon reads the end of an item; behind a closing brace it may be missing.
func (p *parser) semicolon(afterBrace bool) {
	if afterBrace {
		p.accept(';')
		return
	}
	p.expect(';', `";"`)
}

// enter counts one level of nesting; each call is paired with leave.
func (p *parser) enter() bool {
	p.depth++
	if p.depth > maxDepth {
		p.failAt(p.tok.pos, "found nesting deeper than %d levels, expected less", maxDepth)
		return false
	}
	return true
}

func (p *parser) leave() { p.depth-- }

// lead takes the comments that were passed since the last node. Empty lines between them are kept.
func (p *parser) lead() []string {
	cs := p.lex.comments
	p.lex.comments = nil
	var out []string
	for i, c := range cs {
		out = append(out, c.text)
		following := p.tok.pos.Line
		if i+1 < len(cs) {
			following = cs[i+1].line
		} else if p.at(eof) || p.at('}') || p.at(codeClose) {
			continue
		}
		if following > c.line+1 {
			out = append(out, "")
		}
	}
	return out
}

// trail takes the comment behind the token just read, on its line.
func (p *parser) trail() string {
	cs := p.lex.comments
	for i, c := range cs {
		if c.line == p.prev.Line {
			p.lex.comments = slices.Delete(cs, i, i+1)
			return c.text
		}
	}
	return ""
}

// recover skips the rest of a bad definition: to where its braces close, or to a line that begins with the word that
// starts a definition, whichever comes first (a forgotten brace must not swallow the rest of the file).
func (p *parser) recover() {
	p.err, p.depth, p.size = nil, 0, 0
	p.tok = p.failed
	if p.braces <= 0 && p.at('}') { // one brace too many
		p.next()
		p.braces = 0
		return
	}
	opened := p.braces > 0
	for !p.at(eof) && (p.tok.pos.Col != 1 || !startsAlone(p.tok)) {
		if p.braces <= 0 && (opened || p.at(';')) && !p.at('{') {
			if !opened || p.at(';') {
				p.next()
			}
			break
		}
		opened = opened || p.at('{')
		p.next()
	}
	p.braces = 0
	p.lex.comments = nil
}

// startsAlone: these words at the beginning of a line start a definition; constraint and daemon are items, too.
func startsAlone(t token) bool {
	return t.kind == word && slices.Contains(Keywords, t.text) && t.text != "constraint" && t.text != "daemon"
}

// value reads a literal. allow limits what it may be; what names that in errors.
func (p *parser) value(what string, allow ...ValueKind) Value {
	v := Value{Pos: p.tok.pos, Text: p.tok.text}
	switch p.tok.kind {
	case text:
		v.Kind = String
	case integer:
		v.Kind = Int
		v.Int = p.integer(p.tok)
		v.Num = float64(uint64(v.Int))
	case float:
		v.Kind = Float
		v.Num = p.float(p.tok)
	case word:
		v.Kind = Word
		if b, ok := boolean(p.tok.text); ok && slices.Contains(allow, Bool) {
			v.Kind, v.Num = Bool, b
		}
	default:
		p.expected(what)
		return v
	}
	if !slices.Contains(allow, v.Kind) || v.Kind == Word && strings.HasPrefix(v.Text, "$") {
		p.expected(what)
		return v
	}
	p.next()
	return v
}

func boolean(s string) (float64, bool) {
	switch strings.ToLower(s) {
	case "true":
		return 1, true
	case "false":
		return 0, true
	}
	return 0, false
}

func (p *parser) integer(t token) int64 {
	n, err := strconv.ParseUint(t.text, 0, 64)
	if err != nil && !strings.HasPrefix(t.text, "0x") {
		n, err = strconv.ParseUint(t.text, 10, 64) // leading zeros mean nothing here
	}
	if err != nil {
		p.failAt(t.pos, "found %v, expected a number of at most 64 bits", t)
	}
	if n > math.MaxInt64 && !strings.HasPrefix(t.text, "0x") {
		p.failAt(t.pos, "found %v, expected at most %d: numbers are signed; the bits of a larger one are written %v", t, int64(math.MaxInt64), fmt.Sprintf("%#x", n))
	}
	return int64(n)
}

func (p *parser) float(t token) float64 {
	f, err := strconv.ParseFloat(t.text, 64)
	if err != nil {
		p.failAt(t.pos, "found %v, expected a smaller number", t)
	}
	return f
}
