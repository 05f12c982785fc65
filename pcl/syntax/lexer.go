package syntax

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A kind is what sort of token it is. Single characters stand for themselves; the rest follow.
type kind rune

const (
	eof kind = -(iota + 1)
	bad      // Text is the complaint
	word
	text
	integer
	float
	codeOpen  // (*
	codeClose // *)
	arrow     // ->
	plusPlus
	plusEq
	minusEq
	eq
	ne
	le
	ge
	andAnd
	orOr
)

var operators = []struct {
	text string
	kind kind
}{
	{"(*", codeOpen}, {"*)", codeClose}, {"->", arrow}, {"++", plusPlus}, {"+=", plusEq}, {"-=", minusEq},
	{"==", eq}, {"!=", ne}, {"<=", le}, {">=", ge}, {"&&", andAnd}, {"||", orOr},
}

const singles = "{}()[];,./*&+-<>=@"

type token struct {
	kind kind
	text string // without the quotes of a string
	pos  Pos
}

// String says what a reader would call the token.
func (t token) String() string {
	switch t.kind {
	case eof:
		return "the end of the text"
	case bad:
		return t.text
	case text:
		return "the string " + shorten(t.text, `"`)
	case word:
		return shorten(t.text, `"`)
	case integer, float:
		return "the number " + shorten(t.text, "")
	}
	return `"` + t.text + `"`
}

// shorten makes text of any length and content fit into a message.
func shorten(s, quote string) string {
	return quote + Shorten(s, 40) + quote
}

type comment struct {
	text string // with the slashes, without trailing blanks
	line int
}

type lexer struct {
	file           *File
	off, line, col int
	comments       []comment // since they were last taken
	parts          int       // tokens and comments so far
	full           bool      // there were more than maxParts; only the end of the text is seen from then on
}

func (l *lexer) here() Pos { return Pos{l.file, l.off, l.line, l.col} }

// advance moves over n bytes.
func (l *lexer) advance(n int) {
	for _, c := range []byte(l.file.Text[l.off : l.off+n]) {
		switch {
		case c == '\n':
			l.line++
			l.col = 1
		case utf8.RuneStart(c):
			l.col++
		}
	}
	l.off += n
}

func (l *lexer) rest() string { return l.file.Text[l.off:] }

// skip passes blanks and collects comments.
func (l *lexer) skip() {
	for l.off < len(l.file.Text) {
		switch c := l.file.Text[l.off]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			l.advance(1)
		case c == '/' && strings.HasPrefix(l.rest(), "//"):
			line := l.rest()
			if i := strings.IndexByte(line, '\n'); i >= 0 {
				line = line[:i]
			}
			if !l.part() {
				return
			}
			l.comments = append(l.comments, comment{strings.TrimRight(line, " \t\r"), l.line})
			l.advance(len(line))
		default:
			return
		}
	}
}

// part counts a token or a comment and reports whether it may be read.
func (l *lexer) part() bool {
	l.parts++
	l.full = l.parts > maxParts
	return !l.full
}

func (l *lexer) next() token {
	l.skip()
	pos := l.here()
	rest := l.rest()
	if rest == "" || !l.part() {
		return token{eof, "", pos}
	}
	switch c := rest[0]; {
	case isLetter(c) || c == '$':
		return l.word(pos, rest)
	case isDigit(c):
		return l.number(pos, rest)
	case c == '"':
		return l.str(pos, rest)
	}
	return l.operator(pos, rest)
}

func isLetter(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }

func (l *lexer) take(k kind, pos Pos, s string, n int) token {
	l.advance(n)
	return token{k, s, pos}
}

func (l *lexer) word(pos Pos, rest string) token {
	n := 1
	for n < len(rest) && (isLetter(rest[n]) || isDigit(rest[n])) {
		n++
	}
	if rest[:n] == "$" || rest[0] == '$' && isDigit(rest[1]) {
		return l.take(bad, pos, `a "$" without a name`, n)
	}
	if n > maxWord {
		return l.take(bad, pos, fmt.Sprintf("a word of more than %d characters", maxWord), n)
	}
	return l.take(word, pos, rest[:n], n)
}

func (l *lexer) number(pos Pos, rest string) token {
	k, n := integer, 0
	if len(rest) > 2 && rest[0] == '0' && rest[1] == 'x' && isHex(rest[2]) {
		for n = 2; n < len(rest) && isHex(rest[n]); n++ {
		}
	} else {
		n = digits(rest, 0)
		if n+1 < len(rest) && rest[n] == '.' && isDigit(rest[n+1]) {
			k, n = float, digits(rest, n+1)
		}
	}
	if n < len(rest) && isLetter(rest[n]) {
		return l.take(bad, pos, "a number with letters behind it", n)
	}
	return l.take(k, pos, rest[:n], n)
}

func isHex(c byte) bool { return isDigit(c) || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F' }

func digits(s string, n int) int {
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

func (l *lexer) str(pos Pos, rest string) token {
	i := strings.IndexAny(rest[1:], "\"\n")
	if i < 0 || rest[1+i] == '\n' {
		if i < 0 {
			i = len(rest) - 1
		}
		return l.take(bad, pos, `a string without its closing quote on the same line`, 1+i)
	}
	if i > maxString {
		return l.take(bad, pos, fmt.Sprintf("a string of more than %d bytes", maxString), i+2)
	}
	return l.take(text, pos, rest[1:1+i], i+2)
}

func (l *lexer) operator(pos Pos, rest string) token {
	for _, op := range operators {
		if strings.HasPrefix(rest, op.text) {
			return l.take(op.kind, pos, op.text, len(op.text))
		}
	}
	if strings.IndexByte(singles, rest[0]) >= 0 {
		return l.take(kind(rest[0]), pos, rest[:1], 1)
	}
	r, n := utf8.DecodeRuneInString(rest)
	return l.take(bad, pos, fmt.Sprintf("the character %q, which PCL does not use", r), n)
}
