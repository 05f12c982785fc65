package doctor

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// System checks this machine and the rights of this user.
func System() []Check {
	self, err := readStatus("self")
	if err != nil {
		return []Check{{"proc", err.Error(), Fail, "mount -t proc proc /proc"}}
	}
	return []Check{
		machine(), kernel(), capabilities(self), yama(self), perf(self), seccomp(self), bpf(self), btf(), memfd(), tools(),
	}
}

func machine() Check {
	c := Check{Name: "machine", Value: fmt.Sprintf("%s, %d CPUs", runtime.GOARCH, runtime.NumCPU())}
	if runtime.GOARCH != "amd64" {
		c.Level, c.Remedy = Fail, "culprit works on x86-64 only"
	}
	return c
}

// minMajor and minMinor name the oldest kernel that has everything that is used: 5.6 brought pidfd_getfd, by which
// memory is passed to a target (pidfd_getfd(2)).
const minMajor, minMinor = 5, 6

func kernel() Check {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return Check{"kernel", err.Error(), Fail, ""}
	}
	c := Check{Name: "kernel", Value: unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])}
	var major, minor int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor); err == nil &&
		(major < minMajor || major == minMajor && minor < minMinor) {
		c.Level, c.Remedy = Fail, fmt.Sprintf("Linux %d.%d or later is needed", minMajor, minMinor)
	}
	return c
}

func capabilities(self status) Check {
	c := Check{Name: "capabilities"}
	var have []string
	for _, one := range []capability{capSysPtrace, capSysAdmin, capPerfmon, capBPF} {
		if self.has(one) {
			have = append(have, one.name)
		}
	}
	c.Value = strings.Join(have, " ")
	if len(have) == 0 {
		c.Value = "none of those that help"
	}
	if !self.has(capSysPtrace) {
		c.Level = Note
		c.Remedy = "only processes of your own user can be measured; for others: sudo culprit ... (CAP_SYS_PTRACE)"
	}
	return c
}

func yama(self status) Check {
	c := Check{Name: "yama ptrace_scope"}
	n, ok := setting("/proc/sys/kernel/yama/ptrace_scope")
	if !ok {
		c.Value = "no Yama in this kernel: nothing forbidden"
		return c
	}
	c.Value = fmt.Sprint(n)
	privileged := self.has(capSysPtrace)
	switch {
	case n == 3:
		c.Level, c.Remedy = Fail, "no process may be traced until the next boot; boot with kernel.yama.ptrace_scope=1 or less"
	case n == 2 && !privileged:
		c.Level, c.Remedy = Fail, "only with CAP_SYS_PTRACE: sudo culprit ..., or sudo sysctl kernel.yama.ptrace_scope=1"
	case n == 1 && !privileged:
		c.Level, c.Remedy = Note, "only children may be measured: culprit run -- CMD, or sudo culprit attach, or sudo sysctl kernel.yama.ptrace_scope=0"
	}
	return c
}

func perf(self status) Check {
	c := Check{Name: "perf_event_paranoid"}
	n, ok := setting("/proc/sys/kernel/perf_event_paranoid")
	if !ok {
		c.Value, c.Level = "no perf events in this kernel", Note
		c.Remedy = "stack samples come from /proc instead; the search may take longer"
		return c
	}
	c.Value = fmt.Sprint(n)
	if n > 2 && !self.has(capPerfmon) && !self.has(capSysAdmin) {
		c.Level, c.Remedy = Note, "stack samples come from /proc instead; for perf's: sudo sysctl kernel.perf_event_paranoid=2"
	}
	return c
}

func seccomp(self status) Check {
	c := Check{Name: "seccomp of culprit", Value: seccompText(self["Seccomp"])}
	if self["Seccomp"] == "2" {
		c.Level = Note
		c.Remedy = "a filter may forbid ptrace; in Docker or Podman: --cap-add SYS_PTRACE --security-opt seccomp=unconfined"
	}
	return c
}

func seccompText(mode string) string {
	switch mode {
	case "", "0":
		return "none"
	case "1":
		return "strict"
	case "2":
		return "filter"
	}
	return mode
}

func bpf(self status) Check {
	c := Check{Name: "eBPF", Value: "permitted"}
	if !self.has(capBPF) && !self.has(capSysAdmin) {
		c.Value, c.Level = "not permitted", Note
		c.Remedy = "kernel accounting comes from /proc instead, which is coarser; for eBPF: sudo culprit ... (CAP_BPF and CAP_PERFMON)"
	}
	return c
}

func btf() Check {
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		return Check{"kernel BTF", "absent", Note, "per-thread statistics (eBPF) are not used; kernel accounting comes from /proc, which is coarser"}
	}
	return Check{Name: "kernel BTF", Value: "present"}
}

func memfd() Check {
	c := Check{Name: "vm.memfd_noexec"}
	n, ok := setting("/proc/sys/vm/memfd_noexec")
	if !ok {
		c.Value = "not in this kernel: nothing forbidden"
		return c
	}
	c.Value = fmt.Sprint(n)
	if n >= 2 {
		c.Level, c.Remedy = Fail, "probes live in an executable memfd: sudo sysctl vm.memfd_noexec=1"
	}
	return c
}

// tools are programs that culprit does not need, but that a user of it may.
func tools() Check {
	var have, lack []string
	for _, t := range []string{"gcc", "gdb", "objdump", "perf", "redis-server", "redis-benchmark", "strace"} {
		if _, err := exec.LookPath(t); err == nil {
			have = append(have, t)
		} else {
			lack = append(lack, t)
		}
	}
	c := Check{Name: "other tools", Value: "found " + orNone(have)}
	if len(lack) > 0 {
		c.Value += "; not found (and not needed) " + strings.Join(lack, " ")
	}
	return c
}

func orNone(s []string) string {
	if len(s) == 0 {
		return "none"
	}
	return strings.Join(s, " ")
}
