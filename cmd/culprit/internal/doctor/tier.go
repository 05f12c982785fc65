package doctor

import "fmt"

// A Tier is how well a process can be measured: the higher, the more and the more exact.
type Tier int

// The tiers.
const (
	TierNone    Tier = iota // attach fails
	TierProc                // what the kernel accounts to the program, its processes and threads; nothing by function
	TierRunning             // samples of threads that run as well: processor time by function
	TierSample              // samples of threads that wait as well: waiting by function, lock and file
	TierProbe               // probes: counts, and times that are measured
	TierRows                // with what eBPF keeps for each thread
)

// String says what the tier is.
func (t Tier) String() string {
	return [...]string{"nothing", "only what the kernel accounts (/proc)", "stack samples of running threads", "stack samples", "probes",
		"probes, and per-thread statistics (eBPF)"}[t]
}

// Rights are what decides about the tier on the side of the user and of the machine.
type Rights struct {
	Ptrace, Admin, Perfmon, BPF bool // capabilities
	Inner                       bool // in a user namespace of its own: there capabilities do not count for perf and eBPF
	Yama                        int  // kernel.yama.ptrace_scope, 0 where there is no Yama
	Perf                        bool // whether an event of its own could be opened
	Paranoid                    int  // kernel.perf_event_paranoid; -1 without perf
	Noexec                      int  // vm.memfd_noexec
	Lockdown                    bool // confidentiality: eBPF may not read the kernel
	BTF                         bool
	Lacks                       string // what else the kernel lacks for its rows of threads; "" if nothing is known to be missing
}

// Facts are what decides on the side of one process.
type Facts struct {
	PID      int
	Readable bool   // its mappings and its program may be read
	Attach   bool   // the kernel permits to attach
	Tracer   string // who traces it; "" = nobody
	Filtered bool   // it is under a seccomp filter
	Forbids  string // what a thread has forbidden itself that probes need; "" if nothing is known
	Wrong    string // what makes a program impossible to measure; "" if nothing does
}

// A Verdict is the tier that a user gets, why not a higher one, and the one command that gives a higher one.
type Verdict struct {
	Tier    Tier
	Why     string // "" at the highest
	Next    Tier   // what Command gives; equal to Tier if nothing can be done here
	Command string
}

// An obstacle is what keeps a user from a tier, and the command that takes it out of the way; "" if there is none.
type obstacle struct{ why, command string }

// Judge finds the tier. Without facts it is that of a program of the user's own that runs already.
func Judge(r Rights, f *Facts) Verdict {
	if f == nil {
		f = &Facts{Readable: true, Attach: r.Ptrace && r.Yama < 3 || r.Yama == 0}
	}
	read, sample, trace, patch, rows := r.toRead(f), r.toSample(), r.toTrace(f), r.toPatch(f), r.toKeepRows(f)
	switch {
	case read != nil:
		return verdict(TierNone, TierProbe, read)
	case patch == nil && rows == nil:
		return Verdict{Tier: TierRows, Next: TierRows}
	case patch == nil:
		return verdict(TierProbe, TierRows, rows)
	case sample == nil && trace == nil:
		return verdict(TierSample, TierProbe, patch)
	case sample == nil:
		return verdict(TierRunning, TierSample, trace)
	case trace == nil || sample.command != "":
		return verdict(TierProc, TierRunning, sample)
	}
	return verdict(TierProc, TierProbe, trace)
}

func verdict(tier, next Tier, o *obstacle) Verdict {
	if o.command == "" {
		next = tier
	}
	return Verdict{Tier: tier, Why: o.why, Next: next, Command: o.command}
}

// attach is the command line that measures the process with all rights.
func (f *Facts) attach() string {
	if f.PID == 0 {
		return "sudo culprit attach TARGET"
	}
	return fmt.Sprintf("sudo culprit attach %d", f.PID)
}

// heldBack is what else forbids to look into a process where we have all rights: the kernel does not say what it was.
const heldBack = "probably a security module or a container's filter forbids to trace it"

func (r Rights) toRead(f *Facts) *obstacle {
	switch {
	case f.Wrong != "":
		return &obstacle{f.Wrong, ""}
	case !f.Readable && r.Ptrace && !r.Inner:
		return &obstacle{"its mappings may not be read, and " + heldBack, ""}
	case !f.Readable:
		return &obstacle{"its mappings may not be read", f.attach()}
	}
	return nil
}

func (r Rights) toSample() *obstacle {
	switch {
	case r.Perf:
		return nil
	case r.Paranoid < 0:
		return &obstacle{"this kernel has no perf events", ""}
	case r.Paranoid > 2:
		return &obstacle{fmt.Sprintf("kernel.perf_event_paranoid is %d", r.Paranoid), "sudo sysctl kernel.perf_event_paranoid=2"}
	}
	return &obstacle{"perf_event_open is forbidden here, as containers do", "start the container with --security-opt seccomp=unconfined"}
}

// toTrace is the right to attach, which reading the memory of a process needs as well.
func (r Rights) toTrace(f *Facts) *obstacle {
	switch {
	case f.Attach:
		return nil
	case r.Yama >= 3:
		return &obstacle{"kernel.yama.ptrace_scope=3 forbids to trace anything until the next boot", ""}
	case r.Ptrace && r.Inner:
		return &obstacle{"it is outside of the user namespace that culprit runs in, where our capabilities do not count", f.attach() + ", outside of the container"}
	case r.Ptrace:
		return &obstacle{heldBack, ""}
	case r.Yama == 1:
		return &obstacle{"kernel.yama.ptrace_scope=1 permits to trace children only", "sudo sysctl kernel.yama.ptrace_scope=0"}
	case r.Yama == 2:
		return &obstacle{"kernel.yama.ptrace_scope=2 wants CAP_SYS_PTRACE", f.attach()}
	}
	return &obstacle{"it may not be traced by this user (another user's, or not dumpable)", f.attach()}
}

func (r Rights) toPatch(f *Facts) *obstacle {
	if o := r.toTrace(f); o != nil {
		return o
	}
	switch {
	case f.Tracer != "":
		return &obstacle{f.Tracer + " traces it, and only one can", "end " + f.Tracer + ", or let it detach"}
	case f.Filtered && (!r.Admin || r.Inner):
		return &obstacle{"it is under a seccomp filter, and to suspend that takes CAP_SYS_ADMIN", f.attach()}
	case f.Forbids != "":
		return &obstacle{f.Forbids, ""}
	case r.Noexec >= 2:
		return &obstacle{fmt.Sprintf("vm.memfd_noexec is %d, and probes live in an executable memfd", r.Noexec), "sudo sysctl vm.memfd_noexec=1"}
	}
	return nil
}

func (r Rights) toKeepRows(f *Facts) *obstacle {
	switch {
	case !r.BTF:
		return &obstacle{"this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)", ""}
	case r.Lacks != "":
		return &obstacle{r.Lacks, ""}
	case r.Lockdown:
		return &obstacle{"the kernel is locked down (confidentiality): eBPF may not read it", ""}
	case !r.Admin && !(r.BPF && r.Perfmon):
		return &obstacle{"eBPF wants CAP_BPF and CAP_PERFMON", f.attach()}
	case r.Inner:
		return &obstacle{"in a user namespace capabilities do not count for eBPF", f.attach() + ", outside of the container"}
	}
	return nil
}

// Check is the verdict as a line of the doctor.
func (v Verdict) Check() Check {
	c := Check{Name: "tier", Value: v.Tier.String()}
	if v.Why != "" {
		c.Value += ": " + v.Why
	}
	switch {
	case v.Tier == TierNone:
		c.Level, c.Remedy = Fail, v.Command
	case v.Tier < TierRows:
		c.Level, c.Remedy = Note, "nothing gives more here"
		if v.Command != "" {
			c.Remedy = fmt.Sprintf("for %s: %s", v.Next, v.Command)
		}
	}
	if c.Remedy == "" && c.Level != OK {
		c.Remedy = "choose another process"
	}
	return c
}

// onlyProbes are the checks whose failure leaves samples.
var onlyProbes = map[string]bool{"yama ptrace_scope": true, "vm.memfd_noexec": true, "tracer": true, "permission": true, "seccomp of the target": true}

// Soften turns failures into notes that the tier makes up for.
func Soften(checks []Check, v Verdict) {
	for i := range checks {
		if c := &checks[i]; c.Level == Fail && v.Tier > TierNone && onlyProbes[c.Name] {
			c.Level = Note
		}
	}
}
