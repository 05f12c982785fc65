// Package program is the code of one process at its addresses: the files that it maps, the functions in them, what names mean, what calls what,
// loops, where arguments are, and what was loaded and unloaded. It answers most of what the compiler of PCL asks (pcl.Env).
//
// It reads a process through a small interface (Source) and changes nothing there. It must not import daemon/process, grid or trampoline: what is
// planned for a function, and what is put into it, is kept by others, by *Function. A stack is walked by others, with the tables that TablesAt finds.
//
// A Program is for one goroutine at a time. Files, and Flow of a function, are safe for several. What has to be decoded or read from a file is
// made when it is first asked for, but never in a stop (lazy.InStop): there it is missing.
package program
