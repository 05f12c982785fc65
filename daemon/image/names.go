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
	if strings.IndexByte(s, '.') < 0 {
		return "" // most names: this is asked of each
	}
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

// builtins are the types without a qualifier that a mangled name has one letter for (Itanium C++ ABI, 5.1.5.2).
var builtins = [256]string{
	'w': "wchar_t", 'b': "bool", 'c': "char", 'a': "signed char", 'h': "unsigned char", 's': "short", 't': "unsigned short", 'i': "int", 'j': "unsigned int",
	'l': "long", 'm': "unsigned long", 'x': "long long", 'y': "unsigned long long", 'f': "float", 'd': "double", 'e': "long double", 'z': "...",
}

// maxSimple bounds the names that simpleName reads, in bytes: the demangler cuts longer ones.
const maxSimple = 1000

// simpleName is the readable name, and that without parameters, of a function of C++ that has a plain path and parameters of built-in types only, such
// as _ZN5space4workEid. ok is false of all other names: the demangler, which takes some 10 µs for a name, reads those.
func simpleName(s string) (name, path string, ok bool) {
	rest, mangled := strings.CutPrefix(s, "_Z")
	if !mangled || len(s) > maxSimple {
		return "", "", false
	}
	var sb strings.Builder
	rest, nested := strings.CutPrefix(rest, "N")
	for first := true; first || nested && rest != "" && rest[0] != 'E'; first = false {
		id, behind, ok := sourceName(rest)
		if !ok {
			return "", "", false
		}
		if !first {
			sb.WriteString("::")
		}
		sb.WriteString(id)
		rest = behind
	}
	if nested {
		if rest, ok = strings.CutPrefix(rest, "E"); !ok {
			return "", "", false
		}
	}
	length := sb.Len()
	if !addBuiltins(&sb, rest) {
		return "", "", false
	}
	name = sb.String()
	return name, name[:length], true
}

// sourceName takes an identifier with its length in front off a name. One that stands for something else, such as a namespace without a name, is none.
func sourceName(s string) (id, rest string, ok bool) {
	n, digits := 0, 0
	for digits < len(s) && digits < 4 && s[digits] >= '0' && s[digits] <= '9' {
		n = 10*n + int(s[digits]-'0')
		digits++
	}
	if s = s[digits:]; n == 0 || n > len(s) {
		return "", "", false
	}
	id, rest = s[:n], s[n:]
	for i := range len(id) {
		if c := id[i]; c >= 0x80 || !wordByte(c) {
			return "", "", false
		}
	}
	return id, rest, !strings.HasPrefix(id, "_GLOBAL_")
}

// addBuiltins writes a list of parameters of built-in types; false if there are others, or none.
func addBuiltins(sb *strings.Builder, types string) bool {
	if types == "v" {
		sb.WriteString("()")
		return true
	}
	for i := range len(types) {
		name := builtins[types[i]]
		if name == "" {
			return false
		}
		if i == 0 {
			sb.WriteByte('(')
		} else {
			sb.WriteString(", ")
		}
		sb.WriteString(name)
	}
	sb.WriteByte(')')
	return types != ""
}
