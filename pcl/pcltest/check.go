package pcltest

import (
	"slices"
	"strings"
	"unicode/utf8"

	"culprit/pcl/syntax"
)

// A scope is what the statements of a test know, in order.
type scope struct {
	p         *parser
	programs  []string
	vars      []string // that words may use; expressions may also use what programs print
	started   bool
	measuring bool
	searched  bool // since the last measure
	over      bool // the first expect, check or stop ends measuring
	measured  bool
}

// Predefined are the variables that are always there: the directory of the test, and that of the file.
var Predefined = []string{"dir", "here"}

// check reports what can be wrong with a test as a whole.
func (p *parser) check(t *Test) {
	s := &scope{p: p, vars: slices.Clone(Predefined)}
	for _, step := range t.Steps {
		s.step(step)
	}
	if !s.measured && !slices.ContainsFunc(t.Steps, func(s Step) bool { c, ok := s.(PCL); return ok && c.Error != "" }) {
		p.report(&syntax.Error{Pos: t.Pos, Msg: `the test expects nothing: "expect METRIC at FOCUS is VALUE" behind "measure"`})
	}
}

func (s *scope) fail(pos syntax.Pos, msg string) { s.p.report(&syntax.Error{Pos: pos, Msg: msg}) }

// step looks at one statement: whether what it uses is there, and what it adds.
func (s *scope) step(step Step) {
	switch x := step.(type) {
	case Needs:
		s.words(x.Pattern)
		s.vars = append(s.vars, x.Name)
	case Compile:
		s.words(x.Flags...)
	case Start:
		s.words(x.Args...)
		s.started = true
		if x.Name != "" {
			s.programs = append(s.programs, x.Name)
			s.vars = append(s.vars, x.Name)
		}
	case Run:
		s.words(x.Args...)
	case Say:
		s.words(x.Text)
		s.program(x.Pos, x.To)
	case Await:
		s.words(x.Args...)
		if x.Kind == AwaitLine || x.Kind == AwaitEnd {
			s.program(x.Pos, x.Who)
		}
	case Take:
		s.vars = append(s.vars, x.Name)
	default:
		s.measurement(step)
	}
}

// measurement looks at the statements that measure.
func (s *scope) measurement(step Step) {
	switch x := step.(type) {
	case Measure:
		s.words(x.PID)
		s.program(x.Pos, x.Who)
		s.measuring, s.over, s.searched = true, false, false
	case Enable:
		s.words(x.Focus)
		s.going(x.Pos, "enable")
	case Disable:
		s.words(x.Focus)
		s.going(x.Pos, "disable")
	case Search:
		s.going(x.Pos, "search")
		s.searched = true
	case Hypothesis:
		s.hypothesis(x)
	case Stop:
		s.going(x.Pos, "stop")
		s.over = true
	case Expect:
		s.words(x.Focus)
		s.while(x.Pos, "expect")
		s.measured, s.over = true, true
		if x.As != "" {
			s.vars = append(s.vars, x.As)
		}
	case Check:
		s.measured, s.over = true, true
	}
}

// hypothesis fails unless there was a search.
func (s *scope) hypothesis(x Hypothesis) {
	s.words(x.Focus)
	s.while(x.Pos, "expect")
	if s.measuring && !s.searched {
		s.fail(x.Pos, `expect hypothesis without "search" between "measure" and it: nothing was tested`)
	}
	s.measured, s.over = true, true
}

// while fails unless something is measured.
func (s *scope) while(pos syntax.Pos, what string) {
	if !s.measuring {
		s.fail(pos, what+` without "measure" before it in the test: measure says from when on, and which program`)
	}
}

// going fails unless measuring goes on.
func (s *scope) going(pos syntax.Pos, what string) {
	s.while(pos, what)
	if s.over {
		s.fail(pos, what+" after measuring is over: the first expect, check or stop ends it")
	}
}

// program fails unless there is a program of the name, or one at all.
func (s *scope) program(pos syntax.Pos, name string) {
	switch {
	case !s.started:
		s.fail(pos, `no program was started before: "start PROGRAM"`)
	case name != "" && !slices.Contains(s.programs, name):
		s.fail(pos, "no program was started as "+shorten(name)+syntax.DidYouMean(name, s.programs))
	}
}

// words fails for variables that nothing before has set.
func (s *scope) words(words ...Word) {
	for _, w := range words {
		for _, v := range w.parts {
			if v.name != "" && !slices.Contains(s.vars, v.name) {
				s.fail(v.pos, "there is no $"+v.name+" at this place; there are $"+strings.Join(s.vars, ", $")+syntax.DidYouMean(v.name, s.vars)+". In '..' a $ stands for itself")
			}
		}
	}
}

// list is words for a message.
func list(words []string) string { return strings.Join(words, ", ") }

func contains(words []string, w string) bool { return slices.Contains(words, w) }

// shorten makes a word fit into a message.
func shorten(s string) string {
	if utf8.RuneCountInString(s) > 40 {
		s = string([]rune(s)[:40]) + "..."
	}
	return `"` + s + `"`
}
