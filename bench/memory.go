package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
)

// residentMB is a line of /proc/PID/status that is given in kB, in MiB: VmRSS is the resident memory, VmHWM the most of it.
func residentMB(pid, line string) (float64, error) {
	text, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0, err
	}
	for _, l := range bytes.Split(text, []byte("\n")) {
		if f := bytes.Fields(l); len(f) == 3 && string(f[0]) == line+":" {
			kb, err := strconv.ParseFloat(string(f[1]), 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("/proc/%s/status has no %s", pid, line)
}

// ownMB is the resident memory of this program without garbage.
func ownMB() (float64, error) {
	debug.FreeOSMemory()
	return residentMB("self", "VmRSS")
}

// forgetPeak has the kernel begin anew with the most that was resident (proc(5), clear_refs).
func forgetPeak() error { return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }
