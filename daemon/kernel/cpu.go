package kernel

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxCPU bounds a processor's number; Linux on x86-64 allows 8192.
const maxCPU = 1 << 16

// OnlineCPUs returns the numbers of the processors that are online (/sys/devices/system/cpu/online), ascending.
func OnlineCPUs() ([]int, error) {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, fmt.Errorf("listing the CPUs: %w", err)
	}
	return parseCPUList(strings.TrimSpace(string(text)))
}

// parseCPUList reads the form "0-3,8,10-11" (cpuset(7), formats).
func parseCPUList(text string) ([]int, error) {
	var cpus []int
	for _, part := range strings.Split(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		lo, err := strconv.Atoi(first)
		hi := lo
		if err == nil && isRange {
			hi, err = strconv.Atoi(last)
		}
		if err != nil || lo < 0 || hi < lo || hi >= maxCPU {
			return nil, fmt.Errorf("listing the CPUs: %q is no list of CPUs", text)
		}
		for n := lo; n <= hi; n++ {
			cpus = append(cpus, n)
		}
	}
	return cpus, nil
}

// UsableCPUs returns on how many processors the first thread of the process may run (sched_getaffinity(2)), at least 1.
func UsableCPUs(pid int) (int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(pid, &set); err != nil {
		return 0, explain(fmt.Sprintf("reading the CPUs of process %d", pid), err)
	}
	return max(set.Count(), 1), nil
}
