package syntax

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A File is one text of PCL with the name that errors show for it.
type File struct {
	Name string
	Text string
}

// A Pos is a place in a file. Line and Col count from 1; Col counts characters, Off counts bytes from 0.
type Pos struct {
	File           *File
	Off, Line, Col int
}

// String writes "file:line:col".
func (p Pos) String() string {
	if p.File == nil {
		return "-"
	}
	return fmt.Sprintf("%s:%d:%d", p.File.Name, p.Line, p.Col)
}

// An Error is one thing wrong with a text.
type Error struct {
	Pos Pos
	Msg string // what was found and what was expected
}

// Error is the message on one line: "file:line:col: message"; without a place it is the message alone.
func (e *Error) Error() string {
	if e.Pos.File == nil {
		return e.Msg
	}
	return e.Pos.String() + ": " + e.Msg
}

// Detail is the message with the line it is about and a caret under the place.
func (e *Error) Detail() string {
	if e.Pos.File == nil {
		return e.Error()
	}
	return e.Error() + "\n" + e.Pos.Caret()
}

// caretWidth is how much of a line is shown on either side of a caret.
const caretWidth = 60

// Caret is the source line of p and, below it, a caret under p. Long lines are cut; what could upset a terminal is replaced.
func (p Pos) Caret() string {
	if p.File == nil {
		return ""
	}
	text := p.File.Text
	off := min(max(p.Off, 0), len(text))
	start := strings.LastIndexByte(text[:off], '\n') + 1
	end := len(text)
	if i := strings.IndexByte(text[off:], '\n'); i >= 0 {
		end = off + i
	}
	before, cutLeft := lastRunes(text[start:off], caretWidth)
	after, cutRight := firstRunes(text[off:end], caretWidth)
	if cutLeft {
		before = "..." + before
	}
	if cutRight {
		after += "..."
	}
	return "    " + before + after + "\n    " + strings.Repeat(" ", utf8.RuneCountInString(before)) + "^"
}

// lastRunes returns the printable form of the last n characters of s, and whether any were cut.
func lastRunes(s string, n int) (string, bool) {
	cut := len(s)
	for range n {
		if cut == 0 {
			break
		}
		_, w := utf8.DecodeLastRuneInString(s[:cut])
		cut -= w
	}
	return printable(s[cut:]), cut > 0
}

func firstRunes(s string, n int) (string, bool) {
	cut := 0
	for range n {
		if cut == len(s) {
			break
		}
		_, w := utf8.DecodeRuneInString(s[cut:])
		cut += w
	}
	return printable(s[:cut]), cut < len(s)
}

// Shorten cuts a text to n characters, with "..." behind them, and replaces what could upset a terminal.
func Shorten(s string, n int) string {
	short, cut := firstRunes(s, n)
	if cut {
		short += "..."
	}
	return short
}

// maxMessage is how many characters of a message are shown: what it quotes may be as long as the text.
const maxMessage = 600

// ErrorAt makes an error of a message about a place. Whatever the message quotes is shortened and made fit for a terminal.
func ErrorAt(pos Pos, format string, args ...any) *Error {
	return &Error{Pos: pos, Msg: Shorten(fmt.Sprintf(format, args...), maxMessage)}
}

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\r':
			return ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, s)
}
