// Package libc holds what culprit knows of C libraries, of their loader and thread library, and of the unwinder: names of files and
// functions, and where a structure keeps what. These facts change with versions of those libraries and with the architecture. A new version
// is looked up here and nowhere else.
//
// It is data and lookups in it: nothing is read from a process or a file. It imports nothing of the house. All of it may be used by several
// goroutines. Facts of x86-64 are in the files that end in _amd64.go.
package libc
