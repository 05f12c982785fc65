// Package plans is how the points of functions are reached: which instructions make room for a jump, and why there is no way to a point. What code
// there is package program tells. A function is planned when somebody first asks for it, and once for all processes that have the same code at
// the same addresses. Report counts what of a program can be instrumented.
//
// It plans, and changes nothing in a process: what is written at the sites of a plan is kept by daemon/patch. It must not import daemon/process,
// daemon/patch, or what measures.
//
// Goroutines: a Set is for one goroutine at a time. Different Functions may be made at the same time (Make, MakeAll), but one is extended by
// one goroutine only, which nobody else is making. A Shared is safe for several. Locks are held for moments, and none is taken with another.
package plans
