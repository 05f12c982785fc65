// Package resources says which resources there are below a focus, for those who search, and lists the code of targets in the tree, for those
// who choose.
//
// It must not know how anything is measured. It asks of stack samples only what they have seen.
//
// Below locks a target while it reads its program, one at a time. A Catalogue has a lock of its own, under
// which nothing else is asked; any goroutine may call it.
package resources
