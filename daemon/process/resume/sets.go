package resume

import (
	"slices"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// Sets of descriptors, in which select and pselect tell what they have found.

// hasSets says whether a call takes a number of descriptors and three sets of them.
func hasSets(nr uint64) bool { return nr == unix.SYS_SELECT || nr == unix.SYS_PSELECT6 }

// emptySets makes the sets of a call empty, as the kernel does when its time is over. Where the program could not write all of them itself it changes
// nothing, and the answer is false.
func (c *Calls) emptySets(r *unix.PtraceRegs) bool {
	n, ok := c.setLength(r)
	if !ok || n == 0 {
		return ok
	}
	maps, err := raw.ReadMaps(c.pid)
	if err != nil {
		return false
	}
	sets := slices.DeleteFunc([]raw.Addr{raw.Addr(r.Rsi), raw.Addr(r.Rdx), raw.Addr(r.R10)}, func(at raw.Addr) bool { return at == 0 })
	for _, at := range sets {
		if !raw.Writable(maps, at, n) {
			return false
		}
	}
	for _, at := range sets {
		if _, err := c.mem.Pwrite(make([]byte, n), at); err != nil {
			return false
		}
	}
	return true
}

// setLength is how many bytes the kernel reads and writes of each set: whole words for as many descriptors as the process has room for.
func (c *Calls) setLength(r *unix.PtraceRegs) (bytes int, ok bool) {
	const word = 64
	st, err := raw.ReadStatus(c.pid, 0)
	n := min(int(int32(r.Rdi)), st.FDSize)
	return (n + word - 1) / word * (word / 8), err == nil && n >= 0
}
