package threadstats

import "math/bits"

// RowSize is the length of a row in bytes, a power of two.
const RowSize = 256

// KeyOff is where in a row its key is: the thread pointer (FS base) that owns it. 0 is a row that was never used, at which a
// search ends; 1 is one that was freed, which a search passes.
const KeyOff = 0

// SinceOff is where in a row it stands since when its thread is off the processor, in ns of CLOCK_MONOTONIC; 0 while it runs. A thread
// that finds anything else in its own row came back without a trace point telling ([Table.Unseen]): its time off the processor is
// short by the wait before, until the scheduler accounts for it: a system call that asks for its processor time has it do so. The
// lowest bit is no time, but FilteredBit.
const SinceOff = 16

// FilteredBit is set in a row's word at SinceOff if system calls of the thread did not simply go to the kernel when it left: a filter
// (seccomp(2)) or the program itself looks at them, and may end it for one.
const FilteredBit = 1

// WokenOff is where it stands from when on the thread could run again, in ns of CLOCK_MONOTONIC; 0 while it waits or runs.
const WokenOff = 24

// The words of a row that are not sums. All of them are written by the kernel side only, but keys, which Free takes away.
const (
	seqOff   = 8  // 32 bits: odd while a switch changes the row
	ownerOff = 12 // 32 bits: the thread's number << ownerShift, then why it left the processor
	callOff  = 32 // the thread's processor time (clock - off_cpu, ns) when it entered a system call, 0 outside
	faultOff = 40 // ns of CLOCK_MONOTONIC when it had a page fault, 0 outside
	firstOff = 48 // of the sums
)

const (
	freed      = 1 // the key of a row that Free has taken away: no thread pointer, which are aligned
	ownerShift = 8 // thread numbers have 22 bits at most (PID_MAX_LIMIT)
	ioBit      = 0x80
	reasonMask = 0x7f
)

// Limits of a table: slots are a power of two between them.
const (
	minSlots = 64
	maxSlots = 65536
)

// probes is how many places a search looks at. The trampoline's search has the same limit (trampoline.Geometry).
const probes = 64

// hashFactor spreads thread pointers over places, as trampoline.hashFactor does: the target's code and the kernel side must
// begin to look at the same place. A test holds the two together.
const hashFactor = 0x9E3779B1

// FirstSlot is the row at which the one of a thread pointer is looked for first; slots is a power of two.
func FirstSlot(threadPointer uint64, slots int) int {
	return int(uint32(threadPointer) * hashFactor >> slotShift(slots))
}

// slotShift leaves as many of 32 bits as number the slots.
func slotShift(slots int) uint32 { return uint32(32 - bits.TrailingZeros32(uint32(slots))) }
