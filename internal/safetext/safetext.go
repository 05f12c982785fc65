// Package safetext makes text of unknown origin fit for a terminal. Names of functions, files, threads and peers come from the
// target, which may be hostile: an escape sequence in a file name must not reach the terminal.
//
// What is not printable is shown as Go writes it in a string: \n, \x1b, \u202e; a byte that is not UTF-8 as \xff. The result is
// for reading and cannot be turned back. Other layers may still give a meaning to parts of it, such as the "[red]" of tview,
// quotes or HTML.
//
// It imports nothing of the project. All functions are pure and may be called from any goroutine.
package safetext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMarks is how many combining marks in a row are shown on one character; more would overprint the lines above.
const maxMarks = 4

// Clean returns s with everything escaped that a terminal would not print as one visible character: control characters
// (so also escape sequences, line ends and tabs), invisible and bidirectional format characters, line separators, spaces
// other than the plain one, private and unassigned code points, invalid UTF-8, and combining marks without a character.
// Clean text is returned as it is, without allocation.
func Clean(s string) string {
	if isPlain(s) {
		return s
	}
	var c cleaner
	for len(s) > 0 {
		piece, _, size := c.next(s)
		c.out.WriteString(piece)
		s = s[size:]
	}
	return c.out.String()
}

// CleanMax is Clean cut to at most n terminal cells; what is cut ends with "…". It looks only at as much of s as it
// shows. For n < 1 it is "".
func CleanMax(s string, n int) string {
	if n < 1 {
		return ""
	}
	if len(s) <= n && isPlain(s) {
		return s
	}
	var c cleaner
	cells, fits := 0, 0 // fits: bytes of output that leave a cell for the ellipsis
	for len(s) > 0 {
		piece, width, size := c.next(s)
		if cells+width > n {
			return c.out.String()[:fits] + "…"
		}
		c.out.WriteString(piece)
		cells += width
		if cells < n {
			fits = c.out.Len()
		}
		s = s[size:]
	}
	return c.out.String()
}

// Width is how many terminal cells clean text takes. Text that is not clean is measured as if it had been cleaned.
func Width(s string) int {
	if isPlain(s) {
		return len(s)
	}
	var c cleaner
	cells := 0
	for len(s) > 0 {
		_, width, size := c.next(s)
		cells += width
		s = s[size:]
	}
	return cells
}

// isPlain reports whether all of s is printable ASCII.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// A cleaner goes through a text.
type cleaner struct {
	out   strings.Builder
	marks int // combining marks that may still follow
}

// next returns what to show for the first character of s, the cells it takes, and its length in s.
func (c *cleaner) next(s string) (piece string, width, size int) {
	r, size := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && size == 1:
		piece = hexByte(s[0])
	case unicode.In(r, unicode.M):
		if c.marks > 0 {
			c.marks--
			return s[:size], 0, size
		}
		piece = escape(r)
	case !unicode.IsPrint(r) || looksEmpty(r):
		piece = escape(r)
	default:
		c.marks = maxMarks
		return s[:size], runeWidth(r), size
	}
	c.marks = 0
	return piece, len(piece), size
}

// looksEmpty reports letters that show nothing: the Hangul fillers and the empty braille cell.
func looksEmpty(r rune) bool {
	switch r {
	case 0x115F, 0x1160, 0x3164, 0xFFA0, 0x2800:
		return true
	}
	return false
}

const hexDigits = "0123456789abcdef"

func hexByte(b byte) string {
	return string([]byte{'\\', 'x', hexDigits[b>>4], hexDigits[b&15]})
}

// escape writes a character as in a Go string.
func escape(r rune) string {
	switch r {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	switch {
	case r < 0x80:
		return hexByte(byte(r))
	case r < 0x10000:
		return `\u` + hex(r, 4)
	}
	return `\U` + hex(r, 8)
}

func hex(r rune, digits int) string {
	b := make([]byte, digits)
	for i := digits - 1; i >= 0; i-- {
		b[i] = hexDigits[r&15]
		r >>= 4
	}
	return string(b)
}

// wide lists the blocks whose characters take two cells (East Asian Width W and F, Unicode 15, by block rather than by
// character: an unassigned one inside counts as wide and is never shown).
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115F, Stride: 1}, {Lo: 0x231A, Hi: 0x231B, Stride: 1}, {Lo: 0x2329, Hi: 0x232A, Stride: 1},
		{Lo: 0x23E9, Hi: 0x23EC, Stride: 1}, {Lo: 0x23F0, Hi: 0x23F3, Stride: 3}, {Lo: 0x25FD, Hi: 0x25FE, Stride: 1},
		{Lo: 0x2614, Hi: 0x2615, Stride: 1}, {Lo: 0x2648, Hi: 0x2653, Stride: 1}, {Lo: 0x267F, Hi: 0x2693, Stride: 20},
		{Lo: 0x26A1, Hi: 0x26A1, Stride: 1}, {Lo: 0x26AA, Hi: 0x26AB, Stride: 1}, {Lo: 0x26BD, Hi: 0x26BE, Stride: 1},
		{Lo: 0x26C4, Hi: 0x26C5, Stride: 1}, {Lo: 0x26CE, Hi: 0x26D4, Stride: 6}, {Lo: 0x26EA, Hi: 0x26EA, Stride: 1},
		{Lo: 0x26F2, Hi: 0x26F3, Stride: 1}, {Lo: 0x26F5, Hi: 0x26FA, Stride: 5}, {Lo: 0x26FD, Hi: 0x2705, Stride: 8},
		{Lo: 0x270A, Hi: 0x270B, Stride: 1}, {Lo: 0x2728, Hi: 0x2728, Stride: 1}, {Lo: 0x274C, Hi: 0x274E, Stride: 2},
		{Lo: 0x2753, Hi: 0x2755, Stride: 1}, {Lo: 0x2757, Hi: 0x2757, Stride: 1}, {Lo: 0x2795, Hi: 0x2797, Stride: 1},
		{Lo: 0x27B0, Hi: 0x27BF, Stride: 15}, {Lo: 0x2B1B, Hi: 0x2B1C, Stride: 1}, {Lo: 0x2B50, Hi: 0x2B55, Stride: 5},
		{Lo: 0x2E80, Hi: 0x303E, Stride: 1}, {Lo: 0x3041, Hi: 0x33FF, Stride: 1}, {Lo: 0x3400, Hi: 0x4DBF, Stride: 1},
		{Lo: 0x4E00, Hi: 0xA4CF, Stride: 1}, {Lo: 0xA960, Hi: 0xA97C, Stride: 1}, {Lo: 0xAC00, Hi: 0xD7A3, Stride: 1},
		{Lo: 0xF900, Hi: 0xFAFF, Stride: 1}, {Lo: 0xFE10, Hi: 0xFE19, Stride: 1}, {Lo: 0xFE30, Hi: 0xFE6F, Stride: 1},
		{Lo: 0xFF01, Hi: 0xFF60, Stride: 1}, {Lo: 0xFFE0, Hi: 0xFFE6, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x16FE0, Hi: 0x18CFF, Stride: 1}, {Lo: 0x1AFF0, Hi: 0x1B2FF, Stride: 1}, {Lo: 0x1F004, Hi: 0x1F004, Stride: 1},
		{Lo: 0x1F0CF, Hi: 0x1F0CF, Stride: 1}, {Lo: 0x1F18E, Hi: 0x1F18E, Stride: 1}, {Lo: 0x1F191, Hi: 0x1F19A, Stride: 1},
		{Lo: 0x1F200, Hi: 0x1F320, Stride: 1}, {Lo: 0x1F32D, Hi: 0x1F335, Stride: 1}, {Lo: 0x1F337, Hi: 0x1F37C, Stride: 1},
		{Lo: 0x1F37E, Hi: 0x1F393, Stride: 1}, {Lo: 0x1F3A0, Hi: 0x1F3CA, Stride: 1}, {Lo: 0x1F3CF, Hi: 0x1F3D3, Stride: 1},
		{Lo: 0x1F3E0, Hi: 0x1F3F0, Stride: 1}, {Lo: 0x1F3F4, Hi: 0x1F3F4, Stride: 1}, {Lo: 0x1F3F8, Hi: 0x1F43E, Stride: 1},
		{Lo: 0x1F440, Hi: 0x1F440, Stride: 1}, {Lo: 0x1F442, Hi: 0x1F4FC, Stride: 1}, {Lo: 0x1F4FF, Hi: 0x1F53D, Stride: 1},
		{Lo: 0x1F54B, Hi: 0x1F54E, Stride: 1}, {Lo: 0x1F550, Hi: 0x1F567, Stride: 1}, {Lo: 0x1F57A, Hi: 0x1F57A, Stride: 1},
		{Lo: 0x1F595, Hi: 0x1F596, Stride: 1}, {Lo: 0x1F5A4, Hi: 0x1F5A4, Stride: 1}, {Lo: 0x1F5FB, Hi: 0x1F64F, Stride: 1},
		{Lo: 0x1F680, Hi: 0x1F6C5, Stride: 1}, {Lo: 0x1F6CC, Hi: 0x1F6CC, Stride: 1}, {Lo: 0x1F6D0, Hi: 0x1F6D2, Stride: 1},
		{Lo: 0x1F6D5, Hi: 0x1F6DF, Stride: 1}, {Lo: 0x1F6EB, Hi: 0x1F6EC, Stride: 1}, {Lo: 0x1F6F4, Hi: 0x1F6FC, Stride: 1},
		{Lo: 0x1F7E0, Hi: 0x1F7F0, Stride: 1}, {Lo: 0x1F90C, Hi: 0x1F93A, Stride: 1}, {Lo: 0x1F93C, Hi: 0x1F945, Stride: 1},
		{Lo: 0x1F947, Hi: 0x1FAFF, Stride: 1}, {Lo: 0x20000, Hi: 0x3FFFD, Stride: 1},
	},
}

func runeWidth(r rune) int {
	if r >= 0x1100 && unicode.Is(wide, r) {
		return 2
	}
	return 1
}

// CleanLines is CleanMax for text of several lines, which it keeps: most lines at most, "..." stands for those that are cut.
func CleanLines(s string, max, most int) string {
	lines := strings.Split(s, "\n")
	if len(lines) > most {
		lines = append(lines[:most], "...")
	}
	for i, l := range lines {
		lines[i] = CleanMax(l, max)
	}
	return strings.Join(lines, "\n")
}
