// Package sites finds the sites that serve the points of requests in one process, or tells why there is none: with the exits of functions that are
// jumped to, and with the landings of calls that end without a return.
//
// Check, Find and all that is only told change nothing in the process and put nothing into its memory; they may plan more of a function. Prepare
// and Look are for who is about to put code in: they may stop the process, and map memory for trampolines. It must not know what code runs
// at the sites, what is measured, or what a target is.
//
// Goroutines: a Finder is for one goroutine at a time, the one that may use the Text, the Plans and the Stopper of its process.
package sites
