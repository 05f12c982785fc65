package libc

import "strings"

// IsC reports whether an object is the C library: glibc, also by its name until 2.33, or musl, which is its own loader.
func IsC(object string) bool { return hasPrefix(object, "libc.so", "libc-2.", "ld-musl") }

// IsCXX reports whether an object is the C++ library, by its base name.
func IsCXX(object string) bool { return hasPrefix(object, "libstdc++.so", "libc++.so", "libc++abi.so") }

// IsLoader reports whether an object loads libraries. glibc's loader has functions of its own that are called as those of the C library.
func IsLoader(object string) bool { return strings.HasPrefix(object, "ld-") }

func hasPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
