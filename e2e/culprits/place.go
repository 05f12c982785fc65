package main

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"culprit/session/report"
)

// A placeKind says what a place is.
type placeKind int

const (
	anyPlace     placeKind = iota // *
	functionKind                  // f()
	moduleKind                    // module libz.so
	lockKind                      // lock NAME, also a condition variable, or a file without its directory
	fileKind                      // file NAME, without its directory
	pipeKind                      // pipe
	socketKind                    // socket
	threadKind                    // thread NAME
	processKind                   // process NAME
)

// A place is something that a finding can name. Names may be patterns of path.Match.
type place struct {
	kind placeKind
	name string
}

// named are the kinds that are written with a word before a name.
var named = map[string]placeKind{"module": moduleKind, "lock": lockKind, "file": fileKind, "thread": threadKind, "process": processKind}

func parsePlace(text string) (place, error) {
	text = strings.TrimSpace(text)
	switch text {
	case "*":
		return place{kind: anyPlace}, nil
	case "pipe":
		return place{pipeKind, "pipe"}, nil
	case "socket":
		return place{socketKind, "socket"}, nil
	}
	if f, ok := strings.CutSuffix(text, "()"); ok && f != "" && !strings.Contains(f, " ") {
		return place{functionKind, f}, nil
	}
	kind, name, _ := strings.Cut(text, " ")
	if k, ok := named[kind]; ok && name != "" && !strings.Contains(name, " ") {
		return place{k, name}, nil
	}
	return place{}, fmt.Errorf("%q is no place: expected f(), lock NAME, file NAME, module NAME, thread NAME, process NAME, pipe, socket or *", text)
}

func (p place) String() string {
	switch p.kind {
	case anyPlace:
		return "*"
	case functionKind:
		return p.name + "()"
	case pipeKind, socketKind:
		return p.name
	}
	for word, k := range named {
		if k == p.kind {
			return word + " " + p.name
		}
	}
	panic("BUG: a place of no kind")
}

// at reports whether a focus has the place among its coordinates.
func (p place) at(f report.Focus) bool {
	switch p.kind {
	case anyPlace:
		return true
	case functionKind:
		return anyOf(after(elements(f["Code"]), 1), func(e string) bool { return isFunction(e, p.name) })
	case moduleKind:
		e := elements(f["Code"])
		return len(e) > 0 && (matches(p.name, e[0]) || strings.HasPrefix(e[0], p.name+"."))
	case lockKind:
		return anyOf(after(elements(f["SyncObject"]), 1), func(e string) bool { return isLock(e, p.name) })
	case fileKind:
		return anyOf(after(elements(f["IO"]), 1), func(e string) bool { return matches(p.name, path.Base(e)) })
	case pipeKind, socketKind:
		e := elements(f["IO"])
		return len(e) > 0 && strings.EqualFold(e[0], p.name)
	case threadKind:
		return anyOf(after(elements(f["Process"]), 1), func(e string) bool { return matches(shortName(p.name), shortName(inBraces(e))) })
	case processKind:
		e := elements(f["Process"])
		return len(e) > 0 && matches(shortName(p.name), shortName(beforeBrace(e[0])))
	}
	panic("BUG: a place of no kind")
}

// in reports whether a sentence names the place. A word within another word is not meant.
func (p place) in(sentence string) bool {
	return p.kind == anyPlace || hasWord(sentence, p.name)
}

// elements are the names on a path of a report below its root: Mutex and m of /SyncObject/Mutex/m.
func elements(path string) []string {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], "%2F", "/")
	}
	return after(parts, 1)
}

func after(list []string, n int) []string { return list[min(n, len(list)):] }

func anyOf(list []string, ok func(string) bool) bool {
	for _, e := range list {
		if ok(e) {
			return true
		}
	}
	return false
}

// matches compares a name with a pattern.
func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return pattern == name || ok && err == nil
}

// commLength is how much of the name of a thread the kernel keeps: TASK_COMM_LEN of proc(5) less its zero.
const commLength = 15

func shortName(s string) string { return s[:min(len(s), commLength)] }

// inBraces is the name in thr_42{name}, and beforeBrace that in name{42}.
func inBraces(s string) string {
	_, name, _ := strings.Cut(s, "{")
	return strings.TrimSuffix(name, "}")
}

func beforeBrace(s string) string {
	name, _, _ := strings.Cut(s, "{")
	return name
}

// isLock compares the name of an object with that of a lock: the whole variable, or a member or element of it.
func isLock(element, name string) bool {
	if matches(name, element) || matches(name, path.Base(element)) || strings.HasSuffix(element, "::"+name) || strings.HasSuffix(element, "."+name) {
		return true
	}
	rest, ok := strings.CutPrefix(element, name)
	return ok && rest != "" && strings.ContainsAny(rest[:1], ".[+(")
}

// isFunction compares the name of a function as symbols tell it with one as a source writes it.
func isFunction(element, name string) bool {
	e := plainFunction(element)
	return matches(name, e) || strings.HasSuffix(e, "::"+name)
}

// What compilers add to names: the hash of Rust, and what a function was made from.
var (
	rustHash  = regexp.MustCompile(`::h[0-9a-f]{16}$`)
	cloneMark = regexp.MustCompile(`\.(constprop|part|isra|cold|lto_priv|llvm)\b.*$`)
)

// plainFunction leaves of a demangled name what a source has: no parameters, no arguments of templates, no result.
func plainFunction(s string) string {
	s = strings.ReplaceAll(s, "(anonymous namespace)::", "")
	s = cloneMark.ReplaceAllString(rustHash.ReplaceAllString(s, ""), "")
	s = strings.TrimSuffix(strings.ReplaceAll(s, "::{{closure}}", ""), "::{closure#0}")
	if i := strings.IndexByte(s, '('); i > 0 && strings.HasPrefix(s[i:], "()(") {
		s = s[:i+2] // operator()
	} else if i > 0 {
		s = s[:i]
	}
	s = withoutBrackets(s)
	return s[strings.LastIndexByte(s, ' ')+1:]
}

// withoutBrackets leaves out what stands between < and >.
func withoutBrackets(s string) string {
	var b strings.Builder
	depth := 0
	for _, c := range s {
		switch {
		case c == '<':
			depth++
		case c == '>':
			depth = max(depth-1, 0)
		case depth == 0:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// hasWord reports whether a text has a word, which is not part of a longer name.
func hasWord(text, word string) bool {
	if word == "" {
		return false
	}
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		begin, end := from+i, from+i+len(word)
		if (begin == 0 || !isWordByte(text[begin-1])) && (end == len(text) || !isWordByte(text[end])) {
			return true
		}
		from = begin + 1
	}
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
