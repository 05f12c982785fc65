package doctor

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Gather reads what the tier depends on for this user and machine, but for what the kernel lacks.
func Gather() Rights {
	self, err := readStatus("self")
	if err != nil {
		return Rights{Paranoid: -1}
	}
	r := Rights{Ptrace: self.has(capSysPtrace), Admin: self.has(capSysAdmin), Perfmon: self.has(capPerfmon), BPF: self.has(capBPF),
		Inner: innerNamespace(), Perf: perfWorks(), Paranoid: -1}
	r.Yama, _ = setting("/proc/sys/kernel/yama/ptrace_scope")
	r.Noexec, _ = setting("/proc/sys/vm/memfd_noexec")
	if n, ok := setting("/proc/sys/kernel/perf_event_paranoid"); ok {
		r.Paranoid = n
	}
	down, err := readFile("/sys/kernel/security/lockdown")
	r.Lockdown = err == nil && strings.Contains(down, "[confidentiality]")
	_, err = os.Stat("/sys/kernel/btf/vmlinux")
	r.BTF = err == nil
	return r
}

// innerNamespace reports whether we are in another user namespace than the first, which alone maps all ids to themselves.
func innerNamespace() bool {
	text, err := readFile("/proc/self/uid_map")
	f := strings.Fields(text)
	return err == nil && (len(f) != 3 || f[0] != "0" || f[1] != "0" || f[2] != "4294967295")
}

// perfWorks opens an event of its own that counts nothing, as the settings, the capabilities and filters allow it or not.
func perfWorks() bool {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Bits: unix.PerfBitDisabled | unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv}
	fd, err := unix.PerfEventOpen(&attr, 0, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return false
	}
	unix.Close(fd)
	return true
}

// FactsOf reads what the tier depends on for a process.
func FactsOf(pid int) *Facts {
	f := &Facts{PID: pid}
	id := strconv.Itoa(pid)
	st, err := readStatus(id)
	if err != nil {
		f.Wrong = "there is no such process"
		return f
	}
	if c, stop := kindOf(st, id); stop {
		f.Wrong = c.Value
		return f
	}
	if maps, err := os.Open("/proc/" + id + "/maps"); err == nil {
		maps.Close()
		f.Readable = true
	}
	if f.Readable {
		if c := executable(id); c.Level == Fail {
			f.Wrong = c.Value
		}
	}
	f.Attach = permission(pid, st).Level == OK
	f.Filtered = st["Seccomp"] == "1" || st["Seccomp"] == "2"
	if t := st["TracerPid"]; t != "" && t != "0" {
		name := "unknown"
		if s, err := readStatus(t); err == nil {
			name = s["Name"]
		}
		f.Tracer = fmt.Sprintf("%s (pid %s)", name, t)
	}
	return f
}
