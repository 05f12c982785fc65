package libc

import (
	"strings"

	"culprit/internal/funcname"
)

// IsC reports whether an object is the C library: glibc, also by its name until 2.33, or musl, which is its own loader.
func IsC(object string) bool { return funcname.IsC(object) }

// IsCXX reports whether an object is the C++ library, by its base name.
func IsCXX(object string) bool { return funcname.IsCXX(object) }

// IsLoader reports whether an object loads libraries. glibc's loader has functions of its own that are called as those of the C library.
func IsLoader(object string) bool { return strings.HasPrefix(object, "ld-") }
