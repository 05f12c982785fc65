package funcname

import "strings"

// IsC reports whether a module is the C library, by its base name: glibc, also as it was called until 2.33, or musl, which is its own loader.
func IsC(module string) bool { return hasPrefix(module, "libc.so", "libc-2.", "ld-musl") }

// IsCXX reports whether a module is the C++ library, by its base name.
func IsCXX(module string) bool { return hasPrefix(module, "libstdc++.so", "libc++.so", "libc++abi.so") }

// OfLanguage reports whether a function is of the library of its language, in C, C++ or Rust, also where a compiler has put it into the program. What the
// program does there says the function that calls it.
func OfLanguage(module, name string) bool {
	if IsC(module) || IsCXX(module) {
		return true
	}
	if !strings.Contains(name, "::") {
		return false
	}
	name = withoutArguments(name)
	if ofTrait := strings.TrimPrefix(name, "<"); ofTrait != name {
		name = ofTrait
	} else {
		name = name[strings.LastIndexByte(name, ' ')+1:] // behind the type of what a template returns
	}
	return hasPrefix(name, "std::", "__gnu_cxx::", "core::", "alloc::")
}

// withoutArguments is a name up to its parameters, without the arguments of templates.
func withoutArguments(name string) string {
	var b strings.Builder
	depth := 0
	for i, c := range name {
		switch {
		case c == '<' && i > 0:
			depth++
		case c == '>' && depth > 0:
			depth--
		case c == '(' && depth == 0 && !partOfName.MatchString(name[:i]):
			return b.String()
		case depth == 0:
			b.WriteRune(c)
		}
	}
	return b.String()
}

func hasPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
