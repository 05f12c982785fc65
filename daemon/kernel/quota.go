package kernel

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// cgroupRoot is where control groups are mounted (file-hierarchy(7), cgroups(7)).
const cgroupRoot = "/sys/fs/cgroup"

// CPUQuota returns how many processors' time the control groups of the process leave it, more than 0: cpu.max of version 2,
// cpu.cfs_quota_us of version 1, of its group and all above. It is +Inf where no group has a limit, or none can be read.
func CPUQuota(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return math.Inf(1)
	}
	return quotaOf(string(text), cgroupRoot)
}

// quotaOf reads the lines "id:controllers:path" of /proc/PID/cgroup.
func quotaOf(groups, root string) float64 {
	quota := math.Inf(1)
	for line := range strings.Lines(groups) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 {
			continue
		}
		switch {
		case f[1] == "":
			quota = min(quota, upwards(root, f[2], quotaV2), upwards(filepath.Join(root, "unified"), f[2], quotaV2))
		case hasController(f[1], "cpu"):
			quota = min(quota, upwards(filepath.Join(root, f[1]), f[2], quotaV1), upwards(filepath.Join(root, "cpu"), f[2], quotaV1))
		}
	}
	return quota
}

func hasController(list, name string) bool {
	for _, c := range strings.Split(list, ",") {
		if c == name {
			return true
		}
	}
	return false
}

// upwards is the smallest limit of a group and those above it, up to the root of the hierarchy.
func upwards(root, group string, quota func(dir string) float64) float64 {
	limit := math.Inf(1)
	for group = filepath.Clean("/" + group); ; group = filepath.Dir(group) {
		limit = min(limit, quota(filepath.Join(root, group)))
		if group == "/" {
			return limit
		}
	}
}

// quotaV2 reads "50000 100000", or "max 100000" for no limit.
func quotaV2(dir string) float64 {
	text, err := os.ReadFile(filepath.Join(dir, "cpu.max"))
	f := strings.Fields(string(text))
	if err != nil || len(f) != 2 {
		return math.Inf(1)
	}
	return share(f[0], f[1])
}

// quotaV1 reads the two files of version 1; a quota of -1 is no limit.
func quotaV1(dir string) float64 {
	quota, err := os.ReadFile(filepath.Join(dir, "cpu.cfs_quota_us"))
	if err != nil {
		return math.Inf(1)
	}
	period, err := os.ReadFile(filepath.Join(dir, "cpu.cfs_period_us"))
	if err != nil {
		return math.Inf(1)
	}
	return share(strings.TrimSpace(string(quota)), strings.TrimSpace(string(period)))
}

func share(quota, period string) float64 {
	q, err := strconv.ParseUint(quota, 10, 32)
	if err != nil || q == 0 {
		return math.Inf(1)
	}
	p, err := strconv.ParseUint(period, 10, 32)
	if err != nil || p == 0 {
		return math.Inf(1)
	}
	return float64(q) / float64(p)
}
