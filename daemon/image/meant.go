package image

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"culprit/daemon/image/elffile"
)

// What people call a function is less than what it is called: handle is handle(Job*, int, int), pool::push is
// app::pool<int>::push(int), run is <app::Job as app::Work>::run.

// A Fit is how well a name means a function; less is better.
type Fit int

// The fits.
const (
	FitWhole   Fit = iota // the name of the function in its scope: only parameters were left out
	FitGeneric            // and what templates or generics are made for
	FitInner              // and the scopes that it lies in
)

// A Meant is a function that a name may mean. Two with one Scoped are overloads, or instances of one template.
type Meant struct {
	Fn     *Function
	Fit    Fit
	Scoped string // the name with its scopes, without parameters and what templates are made for
}

// rustHash is what old mangling of Rust puts behind a path.
var rustHash = regexp.MustCompile(`::h[0-9a-f]{16}$`)

// Meant lists the functions that a name may mean, beside those that Named gives: names without parameters, scopes, what templates are made
// for, Rust's hashes, and what compilers add to copies (.constprop.0). It looks at the tables of symbols first: an object whose
// symbols do not hold the last word of the name is not read any further.
func (o *Object) Meant(name string) (list []Meant) {
	q := asked(rustHash.ReplaceAllString(name, ""))
	if !o.mayMean(&q) {
		return nil
	}
	return q.among(o.functions().funcs)
}

// meantIn is Meant for the functions of one module.
func (o *Object) meantIn(module, name string) []Meant {
	q := asked(rustHash.ReplaceAllString(name, ""))
	if !o.mayMean(&q) {
		return nil
	}
	return q.among(o.ModuleFunctions(module))
}

// mayMean is false if the object has no function that is meant, as far as that is known without listing them.
func (o *Object) mayMean(q *question) bool {
	return q.word != "" && (o.table.Done() || o.isGo || o.holdsName(q.word))
}

// A question is a name that somebody has given to a function.
type question struct {
	text  string // without blanks
	plain bool   // it has no parameters
	word  string // that the linker's name must hold
}

// among lists those that may be meant.
func (q *question) among(funcs []*Function) (list []Meant) {
	for _, f := range funcs {
		if m, ok := q.meets(f); ok {
			list = append(list, m)
		}
	}
	return list
}

func asked(name string) question {
	path := strings.NewReplacer("operator()", "operator", "(anonymous namespace)", "").Replace(name)
	path, _, parameters := strings.Cut(path, "(")
	q := question{text: squeeze(name), plain: !parameters}
	for _, w := range wholeWord.FindAllString(withoutGenerics(path), -1) {
		q.word = w // the last one
	}
	if strings.Contains(path, "operator") {
		q.word = "operator"
	}
	return q
}

var wholeWord = regexp.MustCompile(`\w+`)

// squeeze takes out blanks that mean nothing: those beside a sign.
func squeeze(s string) string {
	var sb strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == ' ' && (i == 0 || i+1 == len(s) || !wordByte(s[i-1]) || !wordByte(s[i+1])) {
			continue
		}
		sb.WriteByte(s[i])
	}
	return sb.String()
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// meets tells whether a function may be meant.
func (q *question) meets(f *Function) (m Meant, ok bool) {
	if !f.Named {
		return m, false
	}
	for i := -1; i < len(f.Aliases); i++ {
		linkage := f.Linkage
		if i >= 0 {
			linkage = f.Aliases[i]
		}
		if q.word == "operator" && !strings.Contains(f.Name, "operator") || q.word != "operator" && !strings.Contains(linkage, q.word) {
			continue
		}
		if fit, scoped, ok := q.fits(linkage); ok && (m.Fn == nil || fit < m.Fit) {
			m = Meant{f, fit, scoped}
		}
	}
	return m, m.Fn != nil
}

// fits compares the name with those that a linkage name has for people.
func (q *question) fits(linkage string) (fit Fit, scoped string, ok bool) {
	path := Path(linkage)
	scoped = withoutGenerics(path)
	for _, p := range append([]string{path}, ofTraits(path)...) {
		full := []string{squeeze(p)}
		if !q.plain {
			full = []string{squeeze(demangled(linkage))}
		}
		general := squeeze(withoutGenerics(p))
		switch {
		case slices.Contains(full, q.text):
			return FitWhole, scoped, true
		case q.plain && general == q.text:
			return FitGeneric, scoped, true
		case endsIn(full[0], q.text), q.plain && endsIn(general, q.text):
			return FitInner, scoped, true
		}
	}
	return 0, "", false
}

// endsIn tells whether a name ends in the words of another, with a whole scope in front of them, or with the type that a template returns.
func endsIn(name, tail string) bool {
	head, ok := strings.CutSuffix(name, tail)
	return ok && (strings.HasSuffix(head, "::") || strings.HasSuffix(head, " ") && strings.Contains(tail, "("))
}

// copies matches what compilers add to the names of whole copies of functions. A .part or .cold is no whole function.
var copies = regexp.MustCompile(`(\.(isra|constprop|lto_priv|llvm)(\.[0-9]+)?)+$`)

// OldVersion reports whether the name of a function has a version to which no new program is linked, as the C library's step@GLIBC_2.2.5 has.
// It is meant by its whole name only.
func (f *Function) OldVersion() bool { return strings.Contains(f.Name, "@") }

// Path is the readable name of a function with its scopes, and without parameters, Rust's hash and what a compiler has added for a copy.
func Path(linkage string) (out string) {
	linkage = copies.ReplaceAllString(linkage, "")
	out = linkage
	if !mangled(linkage) {
		return out
	}
	if _, path, ok := simpleName(linkage); ok {
		return path
	}
	defer func() {
		if recover() != nil { // as in demangled
			out = linkage
		}
	}()
	d, err := demangle.ToString(linkage, demangle.NoParams, demangle.MaxLength(12))
	if err != nil || d == "" {
		return linkage
	}
	return elffile.ValidText(rustHash.ReplaceAllString(d, ""))
}

// withoutGenerics takes out what templates and generics are made for. An operator keeps its signs, and Rust's <T as Trait> its scope.
func withoutGenerics(s string) string {
	var sb strings.Builder
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case depth == 0 && (c == '<' || c == '>' || c == '-') && strings.HasSuffix(strings.TrimRight(sb.String(), "<>=-"), "operator"):
			sb.WriteByte(c)
		case c == '<' && depth == 0 && i == 0:
			return s // <T as Trait>::f
		case c == '<':
			depth++
		case c == '>' && depth > 0 && s[i-1] != '-':
			depth--
		case depth == 0:
			sb.WriteByte(c)
		}
	}
	return strings.ReplaceAll(strings.TrimSuffix(sb.String(), "::"), "::::", "::")
}

// ofTraits are the other names of a method of Rust: <a::Job as b::Work>::run is a::Job::run and b::Work::run, <a::Job>::run is a::Job::run.
func ofTraits(path string) (names []string) {
	if !strings.HasPrefix(path, "<") {
		return nil
	}
	depth := 0
	for i := range len(path) {
		switch path[i] {
		case '<':
			depth++
		case '>':
			if i > 0 && path[i-1] == '-' {
				continue
			}
			depth--
		}
		if depth == 0 {
			inner, rest := path[1:i], path[i+1:]
			for _, part := range strings.SplitN(inner, " as ", 2) {
				names = append(names, withoutGenerics(part)+rest)
			}
			return names
		}
	}
	return nil
}

// holdsName reports whether the bytes of a word are in the strings of the symbol tables.
func (o *Object) holdsName(word string) (found bool) {
	err := o.eachTable(func(from *elffile.File, s *elffile.Section) error {
		if strs := from.SectionByIndex(s.Link); strs != nil && !found {
			found = bytes.Contains(strs.Bytes(), []byte(word))
		}
		return nil
	})
	return found || err != nil
}

// Scoped is the name with its scopes, as far as it can be seen in the readable name: without parameters and what templates are made for. A
// template of C++ has the type that it returns in front of it.
func (f *Function) Scoped() string {
	name := strings.ReplaceAll(f.Name, "(anonymous namespace)::", "")
	if i := strings.IndexByte(name, '('); i > 0 && !strings.HasSuffix(name[:i], "operator") {
		name = name[:i]
	}
	return withoutGenerics(name)
}
