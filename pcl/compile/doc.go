// Package compile makes plans: what must be inserted into a target so that a metric is counted at a focus. What it must know about
// the target it asks a pcl.Env. Names are resolved and statements run while the plan is made (value.go, statement.go); what only a
// probe can know becomes an expression of the plan (lower.go). Passes of their own are kernel.go, for what the kernel keeps, union.go,
// for items that stand for several resources, and follow.go, for what descriptors stand for.
//
// It imports grid, pcl, pcl/syntax and pcl/types; it knows nothing of how texts are checked, of ptrace and of machine code. Plan is a
// pure function of the library, its arguments and the answers of the Env: the same input gives the same plan. Any goroutine may call
// it; each call has its own compiler.
package compile
