// Package lazy computes what is expensive to know of a file once, on first use, and never while a target stands still.
//
// While the threads of a target stand still, nobody may wait for a table to be built, code to be decoded or a file to be read: some of that
// takes a second. What works in a stop says so with HoldStill. From then on nothing of the kind is done on its thread: what is there already
// is given, and what is not is noted, and answered as if the file did not have it. Whoever asked lets the target go, has it made, and begins
// anew. WithoutMaking does the same for work that holds a lock others wait for.
//
// It imports nothing of the house. A Value may be used from any goroutine; a Still only on the thread that began it. Value.Get holds its own
// lock while it computes: a computation may ask other Values, but never its own.
package lazy
