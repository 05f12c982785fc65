package pcltest

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"culprit/pcl/syntax"
)

// A Word is one word of a statement, in which variables may stand.
type Word struct {
	Pos   syntax.Pos
	Plain string // without its quotes; variables as they are written
	parts []part
}

// A part is either text or the name of a variable.
type part struct {
	text string
	name string
	pos  syntax.Pos
}

// Empty reports whether there is no word.
func (w Word) Empty() bool { return w.parts == nil }

// Expand puts in the values of variables. The error is of the value that has none.
func (w Word) Expand(value func(name string) (string, error)) (string, error) {
	var b strings.Builder
	for _, p := range w.parts {
		if p.name == "" {
			b.WriteString(p.text)
			continue
		}
		v, err := value(p.name)
		if err != nil {
			return "", err
		}
		b.WriteString(v)
	}
	return b.String(), nil
}

// constant reports whether no variable is in the word.
func (w Word) constant() bool {
	for _, p := range w.parts {
		if p.name != "" {
			return false
		}
	}
	return true
}

// A line is a statement's line, taken apart.
type line struct {
	file  *syntax.File
	off   int // of its first byte
	no    int // from 1
	text  string
	words []Word
	end   int // offset in text behind the last word
}

// at is the place of the byte with offset i in the line's text.
func (l *line) at(i int) syntax.Pos {
	return syntax.Pos{File: l.file, Off: l.off + i, Line: l.no, Col: 1 + utf8.RuneCountInString(l.text[:i])}
}

// split takes a line apart, up to its end or a comment. The name of a test and what is said have no words.
func (l *line) split() *syntax.Error {
	for i := 0; ; {
		for i < len(l.text) && blank(l.text[i]) {
			i++
		}
		if l.said(i) {
			return l.rest(i)
		}
		if i == len(l.text) || l.text[i] == '#' {
			return nil
		}
		if len(l.words) == maxWords {
			return &syntax.Error{Pos: l.at(i), Msg: fmt.Sprintf("the line has more than %d words", maxWords)}
		}
		s := splitter{line: l, i: i, word: Word{Pos: l.at(i)}}
		if err := s.run(); err != nil {
			return err
		}
		l.words = append(l.words, s.word)
		i, l.end = s.i, s.i
		if len(l.words) == 1 && s.word.Plain == "test" {
			return nil // a name follows, which may have quotes in it
		}
	}
}

// said reports whether what is said begins at offset i.
func (l *line) said(i int) bool {
	n := len(l.words)
	return n > 0 && l.words[0].Plain == "say" && i < len(l.text) &&
		(n == 1 && !strings.HasPrefix(l.text[i:], "to ") || n == 3 && l.words[1].Plain == "to")
}

// rest makes one word of the rest of the line: quotes and # stand for themselves, variables for values.
func (l *line) rest(i int) *syntax.Error {
	s := splitter{line: l, i: i, raw: true, word: Word{Pos: l.at(i)}}
	if err := s.run(); err != nil {
		return err
	}
	l.words, l.end = append(l.words, s.word), s.i
	return nil
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

// A splitter reads one word.
type splitter struct {
	line  *line
	i     int
	raw   bool // up to the end of the line, without quotes
	quote byte // 0 outside of quotes
	from  int  // where the quote began
	plain strings.Builder
	text  strings.Builder // since the last variable
	word  Word
}

func (s *splitter) run() *syntax.Error {
	t := s.line.text
	for s.i < len(t) && (s.raw || s.quote != 0 || !blank(t[s.i])) {
		switch c := t[s.i]; {
		case s.quote != 0 && c == s.quote:
			s.quote = 0
			s.i++
		case !s.raw && s.quote == 0 && (c == '\'' || c == '"'):
			s.quote, s.from = c, s.i
			s.i++
		case c == '$' && s.quote != '\'' && s.variable():
		default:
			s.plain.WriteByte(c)
			s.text.WriteByte(c)
			s.i++
		}
	}
	if s.quote != 0 {
		return &syntax.Error{Pos: s.line.at(s.from), Msg: fmt.Sprintf("the closing %c is missing on this line", s.quote)}
	}
	s.flush(true)
	s.word.Plain = s.plain.String()
	return nil
}

// variable reads $name or ${name}; it reports false, and moves nothing, where neither stands.
func (s *splitter) variable() bool {
	rest := s.line.text[s.i+1:]
	name, size := identifier(rest), 0
	if strings.HasPrefix(rest, "{") {
		name, size = identifier(rest[1:]), 2
		if !strings.HasPrefix(rest[1+len(name):], "}") {
			name = ""
		}
	}
	if name == "" {
		return false
	}
	s.flush(false)
	s.word.parts = append(s.word.parts, part{name: name, pos: s.line.at(s.i)})
	n := 1 + size + len(name)
	s.plain.WriteString(s.line.text[s.i : s.i+n])
	s.i += n
	return true
}

// flush makes a part of the text so far; at the end of a word also of none, so that "" is a word.
func (s *splitter) flush(end bool) {
	if s.text.Len() > 0 || end && s.word.parts == nil {
		s.word.parts = append(s.word.parts, part{text: s.text.String()})
	}
	s.text.Reset()
}

// identifier is the name that a text begins with, or "".
func identifier(s string) string {
	n := 0
	for n < len(s) && (letter(s[n]) || n > 0 && '0' <= s[n] && s[n] <= '9') {
		n++
	}
	return s[:n]
}

func letter(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
