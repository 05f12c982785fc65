package process

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

const capSysPtrace = 19

// deniedFacts is everything that decides whether the kernel lets us trace a process.
type deniedFacts struct {
	pid             int
	euid            int // ours
	ptraceCap       bool
	filtered        bool   // we run under a seccomp filter
	uids, gids      [4]int // of the target: real, effective, saved, filesystem
	dumpable        bool
	yama            int // kernel.yama.ptrace_scope, 0 where there is no Yama
	otherNamespace  bool
	targetCaps      uint64
	ourCaps         uint64
	ourRuid, egid   int
	targetReadError bool
}

func gatherFacts(pid int) deniedFacts {
	f := deniedFacts{pid: pid, euid: os.Geteuid(), ourRuid: os.Getuid(), egid: os.Getegid()}
	if self, err := raw.ReadStatus(os.Getpid(), 0); err == nil {
		f.ourCaps = self.CapEff
		f.ptraceCap = self.CapEff&(1<<capSysPtrace) != 0
		f.filtered = self.Seccomp != 0
	}
	s, err := raw.ReadStatus(pid, 0)
	f.targetReadError = err != nil
	f.uids, f.gids, f.targetCaps = s.UIDs, s.GIDs, s.CapEff
	f.yama = yamaScope()
	f.dumpable = isDumpable(pid, s.UIDs[1])
	ours, err1 := os.Readlink("/proc/self/ns/user")
	theirs, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/user", pid))
	f.otherNamespace = err1 == nil && err2 == nil && ours != theirs
	return f
}

// isDumpable uses that the kernel gives the /proc files of a non-dumpable process to root. For root's own processes it cannot be told, and does not matter.
func isDumpable(pid, euid int) bool {
	var st unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d/mem", pid), &st); err != nil {
		return true
	}
	return int(st.Uid) == euid
}

func yamaScope() int {
	b, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if err != nil {
		return 0
	}
	scope, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return scope
}

// explainDenied names the first thing that is in the way, and the command that takes it out of the way.
func explainDenied(f deniedFacts) *NotPermitted {
	e := &NotPermitted{PID: f.pid, Command: fmt.Sprintf("sudo culprit attach %d", f.pid)}
	switch {
	case f.yama >= 3:
		e.Missing = "kernel.yama.ptrace_scope=3 forbids it to everybody until the next boot"
		e.Command = ""
	case f.ptraceCap && f.otherNamespace:
		e.Missing = "the target is in another user namespace, where our CAP_SYS_PTRACE does not count"
	case f.ptraceCap:
		// Nothing of the kernel's own rules is left, and it tells nobody which of its modules refused.
		e.Missing = "we have CAP_SYS_PTRACE, so probably a security module (SELinux, AppArmor, Landlock, BPF) forbids it"
		if f.filtered {
			e.Missing += ", or the seccomp filter of the container that we run in"
		}
		e.Command = ""
	case f.targetReadError:
		e.Missing = "its status cannot be read; CAP_SYS_PTRACE is missing"
	case !allEqual(f.uids[:3], f.euid):
		e.Missing = fmt.Sprintf("the target runs as user %s, we run as %s; CAP_SYS_PTRACE is missing", userName(f.foreignUID()), userName(f.euid))
	case !allEqual(f.gids[:3], f.egid):
		e.Missing = fmt.Sprintf("the target runs with group ids %v, we run with %d; CAP_SYS_PTRACE is missing", f.gids[:3], f.egid)
	case f.otherNamespace:
		e.Missing = "the target is in another user namespace; CAP_SYS_PTRACE is missing"
	case !f.dumpable:
		e.Missing = "the target is not dumpable (it changed its user, has file capabilities or asked for it); CAP_SYS_PTRACE is missing"
	case f.targetCaps&^f.ourCaps != 0:
		e.Missing = "the target has capabilities that we lack; CAP_SYS_PTRACE is missing"
	case f.yama == 2:
		e.Missing = "kernel.yama.ptrace_scope=2 asks for CAP_SYS_PTRACE"
	case f.yama == 1:
		e.Missing = "kernel.yama.ptrace_scope=1 allows only ancestors to trace a process"
		e.Command = "sudo sysctl kernel.yama.ptrace_scope=0"
	default:
		e.Missing = "CAP_SYS_PTRACE is missing, or a security module forbids it"
	}
	return e
}

// foreignUID is the first of the target's user ids that is not ours.
func (f deniedFacts) foreignUID() int {
	for _, uid := range f.uids[:3] {
		if uid != f.euid {
			return uid
		}
	}
	return f.uids[1]
}

func allEqual(ids []int, id int) bool {
	for _, v := range ids {
		if v != id {
			return false
		}
	}
	return true
}

func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return fmt.Sprintf("%s (%d)", raw.CleanName(u.Username), uid)
	}
	return strconv.Itoa(uid)
}
