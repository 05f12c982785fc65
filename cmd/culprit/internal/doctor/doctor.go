// Package doctor says whether this machine, this user and a given target allow what culprit does, and if not, what to do.
//
// It only looks: it reads /proc and /sys, changes nothing and traces nobody. It imports nothing of the house but
// internal/safetext and internal/safeelf. Its functions may be called from any goroutine.
package doctor

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"culprit/internal/safetext"
)

// A Level says how much a check matters.
type Level int

// The levels.
const (
	OK   Level = iota // as it should be
	Note              // something works less well, or by another way
	Fail              // attach would not work
)

// String is the mark of the level in the listing.
func (l Level) String() string { return [...]string{"ok  ", "note", "FAIL"}[l] }

// A Check is one line of the doctor.
type Check struct {
	Name   string
	Value  string // what was found
	Level  Level
	Remedy string // what to do, for Note and Fail
}

// Failed reports whether any check failed.
func Failed(checks []Check) bool {
	for _, c := range checks {
		if c.Level == Fail {
			return true
		}
	}
	return false
}

// Write prints the checks, each on a line, with the remedy below where there is one.
func Write(w io.Writer, checks []Check) error {
	var b strings.Builder
	for _, c := range checks {
		fmt.Fprintf(&b, "%s  %-22s %s\n", c.Level, c.Name, safetext.CleanMax(c.Value, 300))
		if c.Remedy != "" && c.Level != OK {
			fmt.Fprintf(&b, "      %-22s -> %s\n", "", safetext.CleanMax(c.Remedy, 300))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// A capability of capabilities(7) and its bit.
type capability struct {
	bit  uint
	name string
}

// The capabilities that matter to culprit (include/uapi/linux/capability.h).
var (
	capSysPtrace = capability{19, "CAP_SYS_PTRACE"}
	capSysAdmin  = capability{21, "CAP_SYS_ADMIN"}
	capPerfmon   = capability{38, "CAP_PERFMON"}
	capBPF       = capability{39, "CAP_BPF"}
)

// status is what is needed of /proc/PID/status.
type status map[string]string

func readStatus(pid string) (status, error) {
	b, err := readFile("/proc/" + pid + "/status")
	if err != nil {
		return nil, err
	}
	s := status{}
	for line := range strings.Lines(b) {
		if k, v, ok := strings.Cut(line, ":"); ok {
			s[k] = strings.TrimSpace(v)
		}
	}
	return s, nil
}

func (s status) has(c capability) bool {
	mask, _ := strconv.ParseUint(s["CapEff"], 16, 64)
	return mask>>c.bit&1 == 1
}

// readFile reads at most 64 KiB of a file of /proc or /sys, without the white space at its ends.
func readFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<16))
	return strings.TrimSpace(string(b)), err
}

// setting reads a number of /proc/sys; ok is false if this kernel does not have it.
func setting(path string) (n int, ok bool) {
	s, err := readFile(path)
	if err != nil {
		return 0, false
	}
	n, err = strconv.Atoi(s)
	return n, err == nil
}
