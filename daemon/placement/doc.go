// Package placement puts the code of probes at its sites in one target, and has it begin: with the threads that are inside its functions already.
//
// It also lists that code for people. It must not know which pair the probes are of, what else is changed in the same stop (package batch), or
// what becomes of the values.
//
// Goroutines: what is here is for the goroutine that may use the text and the sites of the target, one at a time.
package placement
