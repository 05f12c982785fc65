// Package target is one process that is measured: its code, its threads, its locks and files, the memory that it shares with us and what is
// written into its text, each kept by a package of its own. Whoever measures something in a process is given a Target. It also answers what the
// compiler of PCL asks about the process.
//
// It must not know what is measured (packages above), how values are handed on, or that there are other targets.
package target
