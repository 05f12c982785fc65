// Package segment is the memory that a target and the daemon share: where trampolines lie (islands near the code that they serve), the ledger of what is
// changed in the text, a block of words for each thread, the table of open files, and the word by which forked children are kept out of all of it.
//
// It maps that memory into a stopped target, a little or much of it as the target can afford, adds to it while the target is measured, takes out what
// an attempt has left half done, and finds the segment of a process again: whose it is, what of the mappings and descriptors belongs to it. What it
// finds in a process may be anybody's, and is believed in nothing.
//
// It must not import daemon/program, daemon/patch, pcl or grid: it knows nothing of functions, of what is put into the islands, or of what is counted. It
// imports trampoline for what lies where in the memory, daemon/process for the target, daemon/kernel to read two words at once.
//
// Goroutines: a Segment has no lock; whoever has it sees to it that one goroutine at a time maps or gives out memory. Load, Store, LoadPair, Take and Toggle may be
// called beside that, and beside the target, whose threads write to the blocks at any time. Functions that take a process.World are for the stopped target.
package segment
