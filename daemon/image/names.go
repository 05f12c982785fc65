package image

import (
	"bytes"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ianlancetaylor/demangle"
)

// maxName bounds a name in bytes; C++ templates reach it, hostile files do not get beyond.
const maxName = 4096

// stringAt reads a zero-terminated string of a string table, cut at maxName.
func stringAt(tab []byte, off uint32) string {
	if uint64(off) >= uint64(len(tab)) {
		return ""
	}
	b := tab[off:]
	if len(b) > maxName {
		b = b[:maxName]
	}
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// A nameRoom bounds the bytes of the names that are taken out of one table: names may lie within each other, so that each of millions
// of symbols has a long one.
type nameRoom int

const maxNameRoom = 256 << 20

// roomForNames is enough for every table that a linker makes: it shares the ends of names at most.
func roomForNames(strs []byte) nameRoom { return nameRoom(min(4*len(strs)+16<<20, maxNameRoom)) }

// take is false when there is no room for another name.
func (n *nameRoom) take(name string) bool {
	*n -= nameRoom(len(name))
	return *n >= 0
}

// cleanName makes a name of a file usable as a key: valid UTF-8, without its symbol version, at most maxName bytes.
// Control characters stay: cleaning for a terminal is the display's work.
func cleanName(s string) string {
	if i := strings.IndexByte(s, '@'); i > 0 {
		s = s[:i]
	}
	return limit(s)
}

func limit(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if len(s) <= maxName {
		return s
	}
	s = s[:maxName]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}

// maxDemangling is how long all names of an object may take to be made readable. Ordinary ones take some 10 µs each; the time grows with the
// square of the length for those that were made for it.
const maxDemangling = 5 * time.Second

// demangled is the readable form of a C++ or Rust linkage name with its parameters; the name itself if it is no such name, or if the names
// of the object take too long.
func (o *Object) demangled(s string) string {
	if !mangled(s) {
		return s
	}
	if o.demangling.Load() > int64(maxDemangling) {
		o.leftOut("some names of %s are shown as the linker has them: others took %v to be made readable", o.name, maxDemangling)
		return s
	}
	began := time.Now()
	defer func() { o.demangling.Add(int64(time.Since(began))) }()
	return demangled(s)
}

// demangled is the readable form of a C++ or Rust linkage name with its parameters, or the name itself.
func demangled(s string) (out string) {
	if !mangled(s) {
		return s
	}
	// The demangler is recursive and was not written for hostile names.
	defer func() {
		if recover() != nil {
			out = s
		}
	}()
	d, err := demangle.ToString(s, demangle.MaxLength(12))
	if err != nil || d == "" {
		return s
	}
	return limit(d)
}

func mangled(s string) bool { return strings.HasPrefix(s, "_Z") || strings.HasPrefix(s, "_R") }

// rank orders the names of one address, the most public first: what a programmer would have written in a call.
type rank struct {
	local, underscores, weak, length int
}

func rankOf(s *symbol) rank {
	r := rank{length: len(s.name)}
	switch s.bind {
	case bindLocal:
		r.local = 1
	case bindWeak:
		r.weak = 1
	}
	if !mangled(s.name) {
		r.underscores = len(s.name) - len(strings.TrimLeft(s.name, "_"))
		if strings.HasPrefix(s.name, "_IO_") {
			r.underscores++
		}
	}
	if s.old {
		r.weak++
	}
	return r
}

func (r rank) less(q rank) bool {
	switch {
	case r.local != q.local:
		return r.local < q.local
	case r.underscores != q.underscores:
		return r.underscores < q.underscores
	case r.length != q.length:
		return r.length < q.length
	}
	return r.weak < q.weak
}

// coldBase is the name of the function whose cold part s is ("foo" for foo.cold and foo.cold.3), or "".
func coldBase(s string) string {
	i := strings.LastIndex(s, ".cold")
	if i <= 0 {
		return ""
	}
	rest := s[i+len(".cold"):]
	if rest != "" && (rest[0] != '.' || strings.Trim(rest[1:], "0123456789") != "") {
		return ""
	}
	return s[:i]
}
