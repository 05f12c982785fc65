// Package pcl is what the language of metrics, constraints and hypotheses means to those who measure and search. A Library
// holds what texts define; a Plan says in terms of functions, points, primitives and guards what must be counted for a metric
// at a focus; an Env is what the compiler asks about a target. All of it is data, with the questions that it answers by itself.
//
//	lib       the texts that come with the program
//	syntax    text to trees and back
//	types     types of expressions
//	check     texts to a Library: check.Load
//	compile   a Library, a metric and a focus to a Plan: compile.Plan
//	pcltest   reads tests of metrics
//
// It imports grid and pcl/syntax, and nothing of what is above it: neither the checker nor the compiler, nothing of ptrace,
// machine code, files of a target or the search.
//
// A Library is safe for use by any goroutine: after it is loaded only the values of tunable constants change, under the lock of
// Tunables, which is held for that alone. Everything else is not changed once it is made.
package pcl
