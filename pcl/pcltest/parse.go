package pcltest

import (
	"fmt"
	"strings"

	"culprit/pcl/syntax"
)

// Bounds on what is read. A file beyond them is refused with an error.
const (
	MaxText   = 1 << 20 // bytes of one file
	maxSteps  = 20_000  // statements of one file, common ones counted for each test
	maxWords  = 1000    // words of one line
	maxExpr   = 1000    // operands and operators of one expression
	maxDepth  = 100     // nesting of an expression
	maxErrors = 50      // errors reported for one file
)

// Parse reads a file of tests. name is what errors call it. Where there are errors the file must not be run.
func Parse(name, text string) (*File, []*syntax.Error) {
	f := &File{Source: &syntax.File{Name: name, Text: text}}
	if len(text) > MaxText {
		pos := syntax.Pos{File: f.Source, Line: 1, Col: 1}
		return f, []*syntax.Error{{Pos: pos, Msg: fmt.Sprintf("the file has %d bytes; at most %d can be read", len(text), MaxText)}}
	}
	p := &parser{file: f}
	p.lines()
	if len(f.Tests) == 0 && len(p.errs) == 0 {
		p.report(&syntax.Error{Pos: p.end(), Msg: `the file has no test; a line "test NAME" begins one`})
	}
	for _, t := range f.Tests {
		p.check(t)
	}
	return f, p.errs
}

// A parser goes through a file line by line. An error ends its line only.
type parser struct {
	file   *File
	off    int // of the next line
	no     int // of the present line, from 1
	line   *line
	err    *syntax.Error // of the present line
	errs   []*syntax.Error
	common []Step
	steps  int
	body   *Body // of the present statement, until it is used
}

func (p *parser) report(e *syntax.Error) {
	if len(p.errs) < maxErrors {
		p.errs = append(p.errs, e)
	}
	if len(p.errs) == maxErrors-1 {
		p.errs = append(p.errs, &syntax.Error{Pos: e.Pos, Msg: "too many errors; the rest of the file was not read"})
	}
}

func (p *parser) fail(pos syntax.Pos, format string, args ...any) {
	p.err = first(p.err, &syntax.Error{Pos: pos, Msg: fmt.Sprintf(format, args...)})
}

func first(a, b *syntax.Error) *syntax.Error {
	if a != nil {
		return a
	}
	return b
}

// end is the place behind the last line.
func (p *parser) end() syntax.Pos {
	return syntax.Pos{File: p.file.Source, Off: len(p.file.Source.Text), Line: p.no + 1, Col: 1}
}

// lines reads all statements.
func (p *parser) lines() {
	for p.off < len(p.file.Source.Text) && len(p.errs) < maxErrors {
		p.line, p.err, p.body = p.next(), nil, nil
		if err := p.line.split(); err != nil {
			p.report(err)
			p.takeBody()
			continue
		}
		if len(p.line.words) == 0 {
			continue
		}
		if blank(p.line.text[0]) {
			p.report(&syntax.Error{Pos: p.line.words[0].Pos, Msg: "an indented line, but no statement above it takes a body: begin statements at the margin"})
			p.takeBody()
			continue
		}
		p.body = p.takeBody()
		p.add(p.statement())
	}
}

// next takes the next line.
func (p *parser) next() *line {
	text := p.file.Source.Text
	rest := text[p.off:]
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	p.no++
	l := &line{file: p.file.Source, off: p.off, no: p.no, text: rest}
	p.off = min(p.off+len(rest)+1, len(text))
	return l
}

// takeBody passes the indented lines that follow, with the empty ones between them; nil if there are none.
func (p *parser) takeBody() *Body {
	pos := syntax.Pos{File: p.file.Source, Off: p.off, Line: p.no + 1, Col: 1}
	end, no := p.off, p.no
	for p.off < len(p.file.Source.Text) {
		l := p.next()
		empty := strings.Trim(l.text, " \t\r") == ""
		if !empty && !blank(l.text[0]) {
			break
		}
		if !empty {
			end, no = p.off, p.no
		}
	}
	p.off, p.no = end, no
	if end == pos.Off {
		return nil
	}
	return &Body{Pos: pos, Raw: p.file.Source.Text[pos.Off:end]}
}

// add puts a statement where it belongs, or reports why it is none.
func (p *parser) add(s Step) {
	if p.body != nil {
		p.fail(p.line.words[0].Pos, "%s takes no body: the lines below it must not be indented", p.line.words[0].Plain)
	}
	if p.err != nil {
		p.report(p.err)
		return
	}
	if s == nil {
		return
	}
	if !p.room(1) {
		return
	}
	if n := len(p.file.Tests); n > 0 {
		p.file.Tests[n-1].Steps = append(p.file.Tests[n-1].Steps, s)
		return
	}
	p.common = append(p.common, s)
}

// room counts n statements more; with too many the rest of the file is not read.
func (p *parser) room(n int) bool {
	if p.steps += n; p.steps <= maxSteps {
		return true
	}
	p.errs = append(p.errs[:0], &syntax.Error{Pos: p.line.words[0].Pos, Msg: fmt.Sprintf("the tests have more than %d statements, those before the first one counted for each", maxSteps)})
	p.off, p.file.Tests = len(p.file.Source.Text), nil
	return false
}

// begin begins a test.
func (p *parser) begin() {
	name := strings.TrimSpace(p.line.text[p.line.end:])
	if name == "" {
		p.fail(p.line.at(p.line.end), "found the end of the line, expected the name of the test")
		return
	}
	for _, t := range p.file.Tests {
		if t.Name == name {
			p.fail(p.line.words[0].Pos, "there is a test of this name already, in line %d", t.Pos.Line)
			return
		}
	}
	if !p.room(len(p.common)) {
		return
	}
	p.file.Tests = append(p.file.Tests, &Test{Name: name, Pos: p.line.words[0].Pos, Steps: append([]Step(nil), p.common...)})
}

// useBody gives a statement its body.
func (p *parser) useBody() *Body {
	b := p.body
	p.body = nil
	return b
}
