// Package patch is what is written into the text of a process: the sites whose instructions are displaced, whose code runs at them, and the batches
// that bring sites to what is wanted there.
//
// A batch makes the new trampolines, notes in the ledger what will change, stops the process, checks that nobody stands where bytes change and that the
// bytes are those that are expected, writes them page by page, reads back, and lets everybody go. On an error nothing is changed. What was replaced
// is kept until no thread is in it any more. Whose code it is the package does not know: an owner is any value that can be compared.
//
// What is left by somebody who was killed is undone from what the process carries itself: its ledger, the jumps in its text, and copies of them that
// the program has made. Verify tells what is left.
//
// It must not import pcl, grid, or what measures. It imports trampoline for the code, daemon/segment for the memory, daemon/process for the process; of
// the program it asks a Host, which also makes the stops.
//
// Goroutines: a Text has no lock. Whoever has it uses it from one goroutine at a time; what a Host is asked in a stop is asked on the goroutine that
// makes the stop.
package patch
