package raw

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Frozen says whether control groups have frozen a process.
type Frozen struct {
	By    string // the file that says so; "" if none is known
	Known bool   // all of its groups could be asked
}

// FrozenBy asks the control groups of a thread, of both versions.
func FrozenBy(pid, tid int) Frozen {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/cgroup", pid, tid))
	if err != nil {
		return Frozen{}
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return Frozen{}
	}
	f := Frozen{Known: true}
	for line := range strings.Lines(string(text)) {
		_, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, group, _ := strings.Cut(rest, ":")
		switch {
		case controllers == "": // the unified hierarchy: of the group and those above it
			f.ask(groupDir(string(mounts), "cgroup2", "", group), "cgroup.events", "frozen 1", group == "/")
		case hasWord(controllers, "freezer"):
			f.ask(groupDir(string(mounts), "cgroup", "freezer", group), "freezer.state", "FR", group == "/") // FROZEN, FREEZING
		}
	}
	return f
}

// ask looks whether a file of a group says a word. The group at the top has no such file, and is never frozen.
func (f *Frozen) ask(dir, file, word string, top bool) {
	if top || f.By != "" {
		return
	}
	text, err := os.ReadFile(filepath.Join(dir, file))
	switch {
	case dir == "" || err != nil:
		f.Known = false
	case bytes.Contains(text, []byte(word)):
		f.By = filepath.Join(dir, file)
	}
}

// groupDir is where the files of a group are; "" if its hierarchy is not mounted here.
func groupDir(mounts, kind, option, group string) string {
	for line := range strings.Lines(mounts) {
		f := strings.Fields(line)
		if len(f) >= 4 && f[2] == kind && (option == "" || hasWord(f[3], option)) {
			return filepath.Join(f[1], group)
		}
	}
	return ""
}

func hasWord(list, word string) bool {
	for w := range strings.SplitSeq(list, ",") {
		if w == word {
			return true
		}
	}
	return false
}

// Late is the error of a thread that did not stop in time or, inCall, did not complete a call.
func Late(pid, tid int, waited time.Duration, inCall bool) *Deferred {
	return &Deferred{TID: tid, State: ThreadState(pid, tid), Waited: waited, InCall: inCall, Frozen: FrozenBy(pid, tid)}
}
