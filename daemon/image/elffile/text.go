package elffile

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// MaxName bounds a name in bytes; C++ templates reach it, hostile files do not get beyond.
const MaxName = 4096

// StringAt reads a zero-terminated string of a string table, cut at maxName.
func StringAt(tab []byte, off uint32) string {
	if uint64(off) >= uint64(len(tab)) {
		return ""
	}
	b := tab[off:]
	if len(b) > MaxName {
		b = b[:MaxName]
	}
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// A nameRoom bounds the bytes of the names that are taken out of one table: names may lie within each other, so that each of millions
// of symbols has a long one.
type NameRoom int

const maxNameRoom = 256 << 20

// RoomForNames is enough for every table that a linker makes: it shares the ends of names at most.
func RoomForNames(strs []byte) NameRoom { return NameRoom(min(4*len(strs)+16<<20, maxNameRoom)) }

// Take is false when there is no room for another name.
func (n *NameRoom) Take(name string) bool {
	*n -= NameRoom(len(name))
	return *n >= 0
}

// ValidText makes text of a file fit to be kept: valid UTF-8, at most maxName bytes.
func ValidText(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if len(s) <= MaxName {
		return s
	}
	s = s[:MaxName]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}
