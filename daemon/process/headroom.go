package process

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"culprit/daemon/process/raw"
)

// Headroom reads what limits the target's memory at the moment. What cannot be read counts as unlimited.
func (p *Process) Headroom() (raw.Headroom, error) {
	release, err := p.use()
	if err != nil {
		return raw.Headroom{}, err
	}
	defer release()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		return raw.Headroom{}, p.gone(err)
	}
	limits, _ := os.ReadFile(fmt.Sprintf("/proc/%d/limits", p.pid))
	h := raw.HeadroomIn(status, limits)
	h.Memory, h.MemoryLimit = memoryLeft(p.pid)
	return h, p.alive()
}

// Locked tells how many bytes of the target's memory are locked.
func (p *Process) Locked() (uint64, error) {
	release, err := p.use()
	if err != nil {
		return 0, err
	}
	defer release()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		return 0, p.gone(err)
	}
	return raw.Kilobytes(status, "VmLck:"), p.alive()
}

// mostMappings is where the kernel says how many mappings a process may have.
const mostMappings = "/proc/sys/vm/max_map_count"

// Mappings tells how many mappings the target has and how many it may have; most is Unlimited if that cannot be read. It is no part of
// Headroom, which is asked for often: a list of tens of thousands of mappings costs some ten milliseconds, in which the target can change
// none of them.
func (p *Process) Mappings() (has, most uint64, err error) {
	release, err := p.use()
	if err != nil {
		return 0, raw.Unlimited, err
	}
	defer release()
	f, err := os.Open(fmt.Sprintf("/proc/%d/maps", p.pid))
	if err != nil {
		return 0, raw.Unlimited, p.gone(err)
	}
	defer f.Close()
	if has, err = countLines(f); err != nil {
		return 0, raw.Unlimited, p.gone(err)
	}
	most = raw.Unlimited
	if text, err := os.ReadFile(mostMappings); err == nil {
		most = raw.Number(string(text))
	}
	return has, most, p.alive()
}

func countLines(r io.Reader) (n uint64, err error) {
	buf := make([]byte, 64<<10)
	for {
		k, err := r.Read(buf)
		n += uint64(bytes.Count(buf[:k], []byte{'\n'}))
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// A hierarchy is one that counts memory, of version 1 or 2 of control groups.
type hierarchy struct {
	dir              string // where it is mounted
	root             string // what of it is mounted there
	limit, use, idle string // names of files, and of a line in memory.stat
}

// memoryLeft is how much memory the process's control group and those above it have left, and which file says so.
func memoryLeft(pid int) (most uint64, file string) {
	most = raw.Unlimited
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return most, ""
	}
	for line := range strings.Lines(string(groups)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 || f[1] != "" && !hasWord(f[1], "memory") {
			continue
		}
		if h, ok := mounted(f[1] == ""); ok {
			if n, at := h.leftOf(f[2]); n < most {
				most, file = n, at
			}
		}
	}
	return most, file
}

func hasWord(list, word string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if w == word {
			return true
		}
	}
	return false
}

// mounted finds where the hierarchy is mounted that counts memory.
func mounted(second bool) (h hierarchy, ok bool) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return h, false
	}
	for line := range strings.Lines(string(text)) { // id parent dev root dir options .. - type source options
		before, after, _ := strings.Cut(line, " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if len(f) < 5 || len(g) < 3 {
			continue
		}
		switch {
		case second && g[0] == "cgroup2":
			return hierarchy{f[4], f[3], "memory.max", "memory.current", "inactive_file"}, true
		case !second && g[0] == "cgroup" && hasWord(g[2], "memory"):
			return hierarchy{f[4], f[3], "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}, true
		}
	}
	return h, false
}

// leftOf is how much a group and those above it leave, and the file with the limit that leaves least.
func (h hierarchy) leftOf(group string) (most uint64, file string) {
	rel, err := filepath.Rel(h.root, group)
	if err != nil || strings.HasPrefix(rel, "..") {
		rel = "."
	}
	most = raw.Unlimited
	for dir := filepath.Join(h.dir, rel); len(dir) >= len(h.dir); dir = filepath.Dir(dir) {
		limit, use := h.read(dir, h.limit), h.read(dir, h.use)
		if limit != raw.Unlimited && use != raw.Unlimited {
			stat, _ := os.ReadFile(filepath.Join(dir, "memory.stat"))
			if n := raw.Left(limit, use-min(use, lineOf(stat, h.idle))); n < most {
				most, file = n, filepath.Join(dir, h.limit)
			}
		}
	}
	return most, file
}

func (h hierarchy) read(dir, name string) uint64 {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return raw.Unlimited
	}
	return raw.Number(string(text))
}

// lineOf finds a number in memory.stat; 0 if it is not there.
func lineOf(text []byte, name string) uint64 {
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			n, _ := strconv.ParseUint(f[1], 10, 64)
			return n
		}
	}
	return 0
}
