// Package types has the types of expressions in code of PCL, and what the checker and the compiler both must know of them: what a
// list holds, what $constraint[i] is, which casts and timers there are, and what a literal number or an argument looks like.
//
// It imports grid, pcl/syntax and pcl. All functions are pure, any goroutine may call them.
package types
