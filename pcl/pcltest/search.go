package pcltest

import (
	"regexp"
	"time"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// A State is what the search must have concluded.
type State string

// The states that can be expected.
const (
	StateTrue     State = "true"
	StateFalse    State = "false"
	StateTested   State = "tested"   // either
	StateUntested State = "untested" // neither, or the search did not get there
)

var states = []string{string(StateTrue), string(StateFalse), string(StateTested), string(StateUntested)}

// searchTime is how long a search without "for" may last.
const searchTime = 30 * time.Second

// search reads "search [for TIME]".
func (p *parser) search(at At) Step {
	s := Search{at, searchTime}
	if len(p.line.words) == 1 {
		return s
	}
	if !p.has(1, "for") {
		p.fail(p.line.words[1].Pos, `found %s, expected "for" and a length of time, or the end of the line`, shorten(p.line.words[1].Plain))
		return s
	}
	s.For = p.time(2)
	p.exactly(3)
	return s
}

// hypothesis reads "expect hypothesis NAME [at FOCUS] STATE".
func (p *parser) hypothesis(at At) Step {
	s := Hypothesis{At: at, Name: p.name(2, "the name of a hypothesis")}
	var i int
	s.Focus, i = p.at(3)
	w := p.word(i, "one of "+list(states))
	if p.err == nil && !contains(states, w.Plain) {
		p.fail(w.Pos, "found %s, expected one of %s%s", shorten(w.Plain), list(states), syntax.DidYouMean(w.Plain, states))
	}
	s.State = State(w.Plain)
	p.exactly(i + 1)
	return s
}

// at reads [at FOCUS] from word i on, and returns the number of the next word.
func (p *parser) at(i int) (Word, int) {
	if !p.has(i, "at") {
		return Word{parts: []part{{text: "/"}}, Plain: "/"}, i
	}
	w := p.word(i+1, "a focus, such as /Code/queue.c/pop")
	if p.err != nil || !w.constant() {
		return w, i + 2
	}
	if err := readable(w.Plain); err != nil {
		p.fail(w.Pos, "%v", err)
	}
	return w, i + 2
}

// defined finds what may be the names of hierarchies in a focus.
var defined = regexp.MustCompile(`(?:^|,) */([A-Za-z_][A-Za-z0-9_]*)/`)

// readable tells what is wrong with a focus as far as that can be seen without the hierarchies that texts define: any name may be
// that of one.
func readable(text string) error {
	_, err := grid.ParseFocus(text)
	if err == nil {
		return nil
	}
	var names []string
	for _, m := range defined.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	if _, err := grid.ParseFocus(text, names...); err == nil {
		return nil
	}
	return err
}
