package doctor

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"culprit/internal/safeelf"
)

// Target checks whether attach to the process would work. It opens /proc/PID/mem for that, which the kernel permits to
// exactly those who may attach with ptrace (mm_access with PTRACE_MODE_ATTACH, Yama included), and traces nobody.
func Target(pid int) []Check {
	id := strconv.Itoa(pid)
	st, err := readStatus(id)
	if err != nil {
		return []Check{{"process " + id, "there is none", Fail, "`culprit` without arguments lists your processes"}}
	}
	checks := []Check{{Name: "process " + id, Value: st["Name"] + ", user " + firstField(st["Uid"]) + ", " + st["Threads"] + " threads"}}
	if c, stop := kindOf(st, id); stop {
		return append(checks, c)
	}
	all := append(checks, stateCheck(st), tracer(st), permission(pid, st), executable(id), targetSeccomp(st), space(id))
	if now, err := readStatus(id); Failed(all) && (err != nil || now.ended()) {
		return append(checks, hasEnded("while it was being checked"))
	}
	return all
}

// Occupied is the check that fails where there can be no probes since some are in the process already; why says whose, and what to do
// ("" if there are none).
func Occupied(why string) Check {
	c := Check{Name: "probes of a culprit", Value: "none"}
	if why != "" {
		c.Level = Fail
		c.Value, c.Remedy, _ = strings.Cut(why, ": ")
	}
	return c
}

// Forbidden is the check of what threads have forbidden themselves that probes need: what, "" if nothing; unknown is why that cannot be seen, "" if
// it can.
func Forbidden(what, unknown string) Check {
	c := Check{Name: "modes of its threads", Value: "no thread forbids what probes do"}
	switch {
	case what != "":
		c.Value, c.Level, c.Remedy = what, Note, "nothing to do: the whole process is measured by stack samples; calls are not counted"
	case unknown != "":
		c.Value, c.Level = "not known: "+unknown, Note
		c.Remedy = "nothing to do: attach asks its threads, and takes stack samples if one may not read the time-stamp counter or has its system calls dispatched"
	}
	return c
}

// ended reports whether the process runs no program any more. Between its memory's end and its last state it looks like a thread of
// the kernel, but for a line that newer kernels have.
func (st status) ended() bool {
	s := st["State"]
	return strings.HasPrefix(s, "Z") || strings.HasPrefix(s, "X") || st["VmSize"] == "" && st["Kthread"] == "0"
}

func hasEnded(how string) Check {
	return Check{"state", "it has ended (" + how + ")", Fail, "choose a running process"}
}

// kindOf recognises what has no user code to measure.
func kindOf(st status, id string) (Check, bool) {
	if st.ended() {
		return hasEnded(st["State"]), true
	}
	if st["Kthread"] == "1" || st["VmSize"] == "" {
		return Check{"kind", "a thread of the kernel", Fail, "choose a process that runs a program; for the kernel use perf"}, true
	}
	return Check{}, false
}

func stateCheck(st status) Check {
	c := Check{Name: "state", Value: st["State"]}
	switch {
	case strings.HasPrefix(st["State"], "T"):
		c.Level, c.Remedy = Note, "it is stopped and will show nothing until: kill -CONT "+st["Pid"]
	case strings.HasPrefix(st["State"], "D"):
		c.Level, c.Remedy = Note, "it waits in the kernel; attach is given up if it does not answer within 500 ms"
	}
	return c
}

func tracer(st status) Check {
	t := st["TracerPid"]
	if t == "" || t == "0" {
		return Check{Name: "tracer", Value: "none"}
	}
	name := "unknown"
	if s, err := readStatus(t); err == nil {
		name = s["Name"]
	}
	return Check{"tracer", fmt.Sprintf("pid %s (%s) traces it", t, name), Fail, "a process has one tracer at a time: end that one, or detach in it"}
}

func permission(pid int, st status) Check {
	c := Check{Name: "permission"}
	f, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err == nil {
		f.Close()
		c.Value = "attach is permitted"
		return c
	}
	c.Level = Fail
	c.Value = "attach is not permitted: " + errno(err)
	c.Remedy = remedy(pid, st)
	return c
}

func errno(err error) string {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// remedy finds the reason for which the kernel said no.
func remedy(pid int, st status) string {
	sudo := fmt.Sprintf("sudo culprit attach %d", pid)
	self, _ := readStatus("self")
	scope, _ := setting("/proc/sys/kernel/yama/ptrace_scope")
	owner := firstField(st["Uid"])
	switch {
	case scope == 3:
		return "Yama forbids it until the next boot (kernel.yama.ptrace_scope=3)"
	case self.has(capSysPtrace):
		return "it is probably in another user namespace or held by a security module; run culprit inside its container, or see dmesg"
	case owner != strconv.Itoa(os.Getuid()):
		return "it belongs to user " + owner + ": " + sudo
	case scope == 2:
		return "Yama wants CAP_SYS_PTRACE: " + sudo
	case scope == 1:
		return "Yama permits children only: culprit run -- CMD, or " + sudo + ", or sudo sysctl kernel.yama.ptrace_scope=0"
	}
	return "it has capabilities that you lack or is not dumpable (prctl(2), PR_SET_DUMPABLE): " + sudo
}

func firstField(s string) string {
	if f := strings.Fields(s); len(f) > 0 {
		return f[0]
	}
	return "?"
}

func executable(id string) Check {
	c := Check{Name: "executable"}
	link, _ := os.Readlink("/proc/" + id + "/exe")
	f, file, err := safeelf.Open("/proc/" + id + "/exe")
	if err != nil {
		c.Value, c.Level, c.Remedy = "cannot be read: "+errno(err), Fail, "see permission"
		return c
	}
	defer file.Close()
	c.Value = link
	if f.Class != elf.ELFCLASS64 || f.Machine != elf.EM_X86_64 {
		c.Value += fmt.Sprintf(" (%v, %v)", f.Class, f.Machine)
		c.Level, c.Remedy = Fail, "only x86-64 programs of 64 bits can be instrumented"
		return c
	}
	if strings.HasSuffix(link, " (deleted)") {
		c.Level, c.Remedy = Note, "the file was replaced or removed; the running one is read from "+filepath.Join("/proc", id, "exe")
	} else if f.Section(".symtab") == nil && f.Section(".dynsym") == nil {
		c.Level, c.Remedy = Note, "no symbols: functions are named by their address"
	}
	return c
}

// targetSeccomp says what happens under a filter. Which calls it lets pass can be read only of a process that is stopped.
func targetSeccomp(st status) Check {
	c := Check{Name: "seccomp of the target", Value: seccompText(st["Seccomp"])}
	self, _ := readStatus("self")
	switch mode := st["Seccomp"]; {
	case mode == "1":
		c.Level, c.Remedy = Fail, "strict mode cannot be put aside, so there are no probes: culprit attach --backend sample "+st["Pid"]
	case mode == "2" && !self.has(capSysAdmin):
		c.Level, c.Remedy = Fail, "the filter is put aside while probes' memory is mapped, which needs CAP_SYS_ADMIN: sudo culprit attach "+st["Pid"]
	case mode == "2":
		c.Level = Note
		c.Remedy = "it is put aside for our calls; if it lacks restart_syscall, a wait with a timeout that a stop breaks begins anew and may last up to twice as long"
	}
	return c
}

// space looks whether the target may map what probes need.
func space(id string) Check {
	c := Check{Name: "address space limit"}
	limits, err := readFile("/proc/" + id + "/limits")
	if err != nil {
		c.Value = "unknown: " + errno(err)
		return c
	}
	for line := range strings.Lines(limits) {
		if rest, ok := strings.CutPrefix(line, "Max address space"); ok {
			c.Value = firstField(rest)
			if c.Value != "unlimited" {
				c.Level, c.Remedy = Note, "if there is no room for the probes' memory, attach says so and changes nothing: prlimit --as=unlimited --pid "+id
			}
		}
	}
	return c
}
