// Package probe counts and times in one target: it says where the variables of a plan lie in the thread blocks, translates the plan's code
// into primitives of mini-trampolines that change them, and reads what they have become. A Layout is where the words of a plan lie, and needs no target. Blocks are the thread blocks of one target as of the last
// reading. A Meter is one plan that is measured there.
//
// It must not know which pairs there are, where code is put and when the target is stopped (packages above), or other ways of measuring.
//
// Nothing here has a lock. What belongs to one target is asked by one goroutine at a time; its owner sees to that. A Layout of a trial belongs to
// nobody else.
package probe
