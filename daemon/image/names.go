package image

import (
	"strings"
	"time"

	"github.com/ianlancetaylor/demangle"

	"culprit/daemon/image/elffile"
)

// cleanName makes a name of a file usable as a key: valid UTF-8, without its symbol version, at most maxName bytes.
// Control characters stay: cleaning for a terminal is the display's work.
func cleanName(s string) string {
	if i := strings.IndexByte(s, '@'); i > 0 {
		s = s[:i]
	}
	return elffile.ValidText(s)
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
	if name, _, ok := simpleName(s); ok {
		return name
	}
	if o.demangling.Load() > int64(maxDemangling) {
		o.leftOut.Do(func() {
			o.elf.LeftOut("some names of %s are shown as the linker has them: others took %v to be made readable", o.elf.Name(), maxDemangling)
		})
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
	if name, _, ok := simpleName(s); ok {
		return name
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
	return elffile.ValidText(d)
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
