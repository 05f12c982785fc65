package proclist

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"culprit/internal/safetext"
)

// NotFound is the error for a target that no process answers to.
type NotFound struct{ Target string }

func (e *NotFound) Error() string {
	t := safetext.CleanMax(e.Target, 80)
	if _, err := strconv.Atoi(e.Target); err == nil {
		return fmt.Sprintf("there is no process %s", t)
	}
	return fmt.Sprintf("there is no process named %q; `culprit` without arguments lists those of yours", t)
}

// Ambiguous is the error for a name that several processes answer to.
type Ambiguous struct {
	Target string
	PIDs   []int
}

func (e *Ambiguous) Error() string {
	var s []string
	for i, pid := range e.PIDs {
		if i == 10 {
			s = append(s, fmt.Sprintf("and %d more", len(e.PIDs)-i))
			break
		}
		s = append(s, strconv.Itoa(pid))
	}
	return fmt.Sprintf("%d processes are named %q: give the pid of one, or of several (%s)", len(e.PIDs),
		safetext.CleanMax(e.Target, 80), strings.Join(s, " "))
}

// BadTarget is the error for a target that can be neither a pid nor a name.
type BadTarget struct{ Target, Why string }

func (e *BadTarget) Error() string {
	return fmt.Sprintf("%q is no target: %s", safetext.CleanMax(e.Target, 80), e.Why)
}

// Resolve turns what a user typed (a pid or the name of a process) into a pid. Names match the executable's base name, the
// name that the process gave itself, or the base name of its first argument. Of several processes it is the one whose descendants
// all others are, if there is such a one. The errors are
// *NotFound, *Ambiguous and *BadTarget.
func Resolve(target string) (int, error) {
	if target == "" {
		return 0, &BadTarget{target, "it is empty; give a pid or the name of a process"}
	}
	if pid, err := strconv.Atoi(target); err == nil {
		return resolvePID(target, pid)
	}
	all, err := List()
	if err != nil {
		return 0, err
	}
	var found []int
	for i := range all {
		if all[i].PID != os.Getpid() && all[i].State != 'Z' && all[i].answersTo(target) {
			found = append(found, all[i].PID)
		}
	}
	switch len(found) {
	case 0:
		return 0, &NotFound{target}
	case 1:
		return found[0], nil
	}
	if pid, ok := eldest(all, found); ok {
		return pid, nil
	}
	return 0, &Ambiguous{target, found}
}

// eldest is the process of those found whose descendants all others are, as the first process of a server with workers is.
func eldest(all []Proc, found []int) (int, bool) {
	parent := map[int]int{}
	for i := range all {
		parent[all[i].PID] = all[i].PPID
	}
	isFound := map[int]bool{}
	for _, pid := range found {
		isFound[pid] = true
	}
	top := 0
	for _, pid := range found {
		oldest := pid
		for at, n := parent[pid], 0; at > 0 && n < len(all); at, n = parent[at], n+1 {
			if isFound[at] {
				oldest = at
			}
		}
		if top != 0 && oldest != top {
			return 0, false
		}
		top = oldest
	}
	return top, top != 0
}

func resolvePID(target string, pid int) (int, error) {
	switch {
	case pid <= 0:
		return 0, &BadTarget{target, "a pid is greater than 0"}
	case pid == os.Getpid():
		return 0, &BadTarget{target, "that is culprit itself"}
	}
	// A thread's id also has a directory in /proc, though it is not listed; only its leader is a process.
	if _, err := os.Stat("/proc/" + strconv.Itoa(pid)); err != nil {
		return 0, &NotFound{target}
	}
	if leader := threadGroup(pid); leader != 0 && leader != pid {
		return 0, &BadTarget{target, fmt.Sprintf("that is a thread of process %d; give the process", leader)}
	}
	return pid, nil
}

func threadGroup(pid int) int {
	b, err := readSome("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "Tgid:"); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(rest))
			return n
		}
	}
	return 0
}

// answersTo reports whether a user who types name may mean the process.
func (p *Proc) answersTo(name string) bool {
	if p.Name() == name || p.Comm == name {
		return true
	}
	if strings.Contains(name, "/") {
		return p.Exe == name
	}
	return len(p.Args) > 0 && filepath.Base(p.Args[0]) == name
}
