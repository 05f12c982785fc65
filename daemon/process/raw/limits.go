package raw

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// Unlimited is a headroom that nothing bounds, as far as can be seen.
const Unlimited = uint64(math.MaxUint64)

// A Headroom says how many bytes a process may still have of what is limited.
type Headroom struct {
	AddressSpace uint64 // RLIMIT_AS
	Lockable     uint64 // RLIMIT_MEMLOCK, which binds nobody with CAP_IPC_LOCK
	Memory       uint64 // of its memory cgroup and those above it; file pages that are not in use count as free
	MemoryLimit  string // the file that sets the limit which leaves so little, for people; "" if none is known
	Locked       uint64 // is locked now: no headroom
}

// HeadroomIn is what the limits of a process leave of themselves; that of its control group is left open.
func HeadroomIn(status, limits []byte) Headroom {
	h := Headroom{Locked: Kilobytes(status, "VmLck:"), Memory: Unlimited}
	h.AddressSpace = Left(LimitOf(limits, "Max address space"), Kilobytes(status, "VmSize:"))
	h.Lockable = Left(LimitOf(limits, "Max locked memory"), h.Locked)
	const ipcLock = 14
	if parseStatus(status).CapEff&(1<<ipcLock) != 0 {
		h.Lockable = Unlimited
	}
	return h
}

// Left is what a limit leaves of itself.
func Left(limit, used uint64) uint64 {
	if limit == Unlimited {
		return Unlimited
	}
	return limit - min(limit, used)
}

// Kilobytes finds a line of a status file, as bytes; 0 if there is none.
func Kilobytes(text []byte, key string) uint64 {
	_, rest, ok := bytes.Cut(text, []byte("\n"+key))
	f := strings.Fields(string(rest[:min(len(rest), 64)]))
	if !ok || len(f) < 1 {
		return 0
	}
	n, _ := strconv.ParseUint(f[0], 10, 64)
	return n << 10
}

// LimitOf finds the soft limit of a resource in a limits file.
func LimitOf(text []byte, name string) uint64 {
	_, rest, ok := bytes.Cut(text, []byte(name))
	f := strings.Fields(string(rest[:min(len(rest), 80)]))
	if !ok || len(f) < 1 {
		return Unlimited
	}
	return Number(f[0])
}

// Number reads a limit, which may be "unlimited" or "max".
func Number(s string) uint64 {
	if n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 64); err == nil {
		return n
	}
	return Unlimited
}
