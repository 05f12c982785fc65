// Package refine finds what a focus is refined to: its children along a hierarchy, what Deep Start adds below them, and the hot callees of callers
// that are cool each by itself.
//
// It must not know nodes and their states. It asks the axis alone. A Question belongs to one goroutine; it is asked without a lock, since the
// axis may take a while.
package refine
