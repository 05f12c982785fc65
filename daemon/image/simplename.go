package image

import "strings"

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
