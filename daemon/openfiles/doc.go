// Package openfiles names what descriptors stand for: files, sockets and pipes, the resources of /IO.
//
// A resource is a name: a path, a peer, a pipe. The descriptors that stand for it now are found by looking at all that are open, again and
// again. Probes know files by numbers, which stand in a table by descriptor in memory that the process shares (trampoline.ExFile): what is written
// to the file counts for it, by whichever descriptor, and what the same descriptor stands for later does not.
//
// It knows nothing of probes, pairs or the text of a process: it must not import what patches or measures, nor daemon/process.
//
// A Host has one lock, for itself and all its tables. It is a leaf but for the tree of resources and the functions of Config, which are called
// with it held and must not come back. Methods may be called from any goroutine.
package openfiles
