// Package planner decides how control gets from a point of a function to new code, and which bytes are written for that: a
// ladder of tactics, from a jump in place of whole instructions to one in padding nearby. What cannot be shown to be safe is
// refused, with a reason.
//
// It is pure: it looks at instructions (package x86) that somebody gives to it, and imports nothing else of the house. Safe
// for use by several goroutines on different plans.
package planner
