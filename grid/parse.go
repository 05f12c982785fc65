package grid

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxFocusText bounds what ParseFocus reads, in bytes.
const maxFocusText = 1 << 20

// ParseFocus reads a focus: paths separated by commas, at most one for each hierarchy, in any order, spaces allowed after
// the commas: "/Code/queue.c/pop,/Process/srv{4242}"; "/" is the whole program. '/' inside a name is written %2F. A comma
// ends a path only if a '/' follows it, so that "f(int, int)" needs no escape; in /IO/<kind>/<path> the path is everything
// up to a comma that is followed by the name of a hierarchy. "/Process/4242" is kept as it is: whoever knows the
// processes resolves the number. Hierarchies that PCL texts define are known if they are named: "/Subsystem/parser" selects
// the item parser of the hierarchy Subsystem. Errors are of type *FocusError.
func ParseFocus(text string, defined ...string) (Focus, error) {
	return parseFocus(text, definedNames(defined))
}

func parseFocus(text string, defined definedSet) (Focus, error) {
	p := focusParser{text: text, defined: defined}
	if err := p.parse(); err != nil {
		return Focus{}, err
	}
	return newFocus(p.parts), nil
}

// ParsePair reads "METRIC@FOCUS" or "METRIC" (at the whole program), the focus as ParseFocus reads it. It does not know which
// metrics there are.
func ParsePair(text string, defined ...string) (PairKey, error) {
	metric, focus, ok := strings.Cut(text, "@")
	metric = strings.TrimSpace(metric)
	if metric == "" {
		return PairKey{}, &FocusError{Text: text, Column: 1, Found: "no metric", Expected: "METRIC or METRIC@FOCUS, such as cpu@/Code/queue.c"}
	}
	if !ok {
		return PairKey{Metric: metric}, nil
	}
	f, err := ParseFocus(focus, defined...)
	if err != nil {
		return PairKey{}, fmt.Errorf("metric %s: %w", quote(metric), err)
	}
	return PairKey{Metric: metric, Focus: f}, nil
}

type focusParser struct {
	text    string
	pos     int
	defined definedSet
	seen    [Defined + 1]bool
	parts   focusParts
}

func (p *focusParser) parse() error {
	if len(p.text) > maxFocusText {
		return p.errorAt(0, fmt.Sprintf("%d bytes", len(p.text)), fmt.Sprintf("at most %d", maxFocusText))
	}
	if strings.TrimSpace(p.text) == "/" {
		return nil
	}
	for {
		p.skipSpaces()
		if err := p.part(); err != nil {
			return err
		}
		if p.pos == len(p.text) {
			return nil
		}
		p.pos++ // the comma
	}
}

// part reads "/Hierarchy[/name..]" up to the separating comma or the end.
func (p *focusParser) part() error {
	if !p.at('/') {
		return p.errorAt(p.pos, p.found(), "a path such as /Code/queue.c/pop, or / for the whole program")
	}
	p.pos++
	start := p.pos
	if n := strings.IndexAny(p.text[p.pos:], "/,"); n >= 0 {
		p.pos += n
	} else {
		p.pos = len(p.text)
	}
	name := p.text[start:p.pos]
	h, err := p.defined.hierarchy(name)
	if err != nil {
		return p.unknownHierarchy(start, name)
	}
	if p.seen[h] {
		return p.second(start, h)
	}
	p.seen[h] = true
	if p.at(',') && !p.separator(p.pos) {
		return p.errorAt(p.pos, p.found(), "'/', ',/' or the end")
	}
	if h == Defined {
		return p.item(name)
	}
	return p.elements(h)
}

func (p *focusParser) second(at int, h Hierarchy) error {
	if h == Defined {
		return p.errorAt(at, "a second defined hierarchy", "at most one of them in a focus")
	}
	return p.errorAt(at, "a second path below /"+h.String(), "at most one for each hierarchy")
}

func (p *focusParser) elements(h Hierarchy) error {
	var elems []string
	for p.at('/') {
		p.pos++
		start := p.pos
		isPath := len(elems)+1 == pathDepth(h)
		if isPath {
			p.skipPath()
		} else {
			p.skipName()
		}
		if p.pos == start {
			return p.errorAt(start, p.found(), "a name below /"+h.String())
		}
		raw := p.text[start:p.pos]
		if isPath {
			elems = append(elems, decodePath(raw))
		} else {
			elems = append(elems, decodeName(raw))
		}
	}
	p.parts[h] = encodePart(h, elems)
	return nil
}

// skipName goes to the next slash, separating comma or the end.
func (p *focusParser) skipName() {
	for ; p.pos < len(p.text); p.pos++ {
		if p.text[p.pos] == '/' || p.text[p.pos] == ',' && p.separator(p.pos) {
			return
		}
	}
}

// skipPath goes to a comma that is followed by a hierarchy, or to the end.
func (p *focusParser) skipPath() {
	for ; p.pos < len(p.text); p.pos++ {
		if rest := p.text[p.pos+1:]; p.text[p.pos] == ',' && (startsPart(rest) || p.defined.startsItem(rest)) {
			return
		}
	}
}

// separator reports whether the comma at i ends a part: a slash follows, or nothing (which the next part complains of).
func (p *focusParser) separator(i int) bool {
	rest := strings.TrimLeft(p.text[i+1:], " ")
	return rest == "" || rest[0] == '/'
}

func (p *focusParser) at(c byte) bool { return p.pos < len(p.text) && p.text[p.pos] == c }

func (p *focusParser) skipSpaces() {
	for p.at(' ') {
		p.pos++
	}
}

// found describes what stands at the position.
func (p *focusParser) found() string {
	if p.pos >= len(p.text) {
		return "the end"
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	return fmt.Sprintf("%+q", r)
}

func (p *focusParser) foundName(start int) string {
	if start == p.pos {
		return p.found()
	}
	return quote(p.text[start:p.pos])
}

func (p *focusParser) unknownHierarchy(at int, name string) error {
	return &FocusError{Text: p.text, Column: utf8.RuneCountInString(p.text[:at]) + 1, Found: p.foundName(at), Expected: p.defined.list(),
		Name: name, Known: p.defined.all()}
}

func (p *focusParser) errorAt(pos int, found, expected string) error {
	return &FocusError{Text: p.text, Column: utf8.RuneCountInString(p.text[:pos]) + 1, Found: found, Expected: expected}
}
