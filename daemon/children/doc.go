// Package children notices the processes that targets start, and decides when each of them can be measured too: the children of targets,
// theirs, and so on, those that there are at the attach and those that begin later. It also keeps what is known of them besides: how much
// processor time went to children that nobody measured, and how late others were joined.
//
// A child that has executed a program is joined once that is loaded. One that was only forked runs its parent's code, in which its inherited
// probes do nothing: it is joined if it lives for more than a moment, so that a shell's children on their way to an exec are not held up.
//
// It must not know what is measured in a process, or how. It asks its Host whether a process is a target, and tells it which one to join.
//
// An orphan of a target is known by what it has inherited from it, and by the number of the process that measures: two sessions in one process would
// take each other's orphans for their own.
//
// A Watcher is used by one goroutine at a time, but for Restarted, LastBirth and Ran, which any goroutine may call. Its lock is a leaf: it calls
// its Host without it. The other types have no lock.
package children
