package doctor

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// What users are like.
var (
	root    = Rights{Ptrace: true, Admin: true, Perfmon: true, BPF: true, Perf: true, Paranoid: 2, BTF: true}
	nobody  = Rights{Perf: true, Paranoid: 2, BTF: true}
	inside  = Rights{Ptrace: true, Admin: true, Perfmon: true, BPF: true, Inner: true, Perf: true, Paranoid: 2, BTF: true}
	ownOne  = Facts{PID: 7, Readable: true, Attach: true}
	foreign = Facts{PID: 7}
)

func (r Rights) with(change func(*Rights)) Rights { change(&r); return r }

func (f Facts) with(change func(*Facts)) *Facts { change(&f); return &f }

// effects are what the commands do. sudo makes a user root, who may attach to everything.
func effects(command string, r *Rights, f *Facts) bool {
	switch {
	case strings.HasPrefix(command, "sudo culprit attach"):
		yama, noexec, btf, down, paranoid, lacks := r.Yama, r.Noexec, r.BTF, r.Lockdown, r.Paranoid, r.Lacks
		*r = root
		r.Yama, r.Noexec, r.BTF, r.Lockdown, r.Paranoid, r.Lacks = yama, noexec, btf, down, paranoid, lacks
		if f != nil {
			f.Readable, f.Attach = true, yama < 3
		}
	case command == "sudo sysctl kernel.yama.ptrace_scope=0":
		r.Yama = 0
		if f != nil {
			f.Attach = true
		}
	case command == "sudo sysctl kernel.perf_event_paranoid=2":
		r.Paranoid, r.Perf = 2, true
	case command == "sudo sysctl vm.memfd_noexec=1":
		r.Noexec = 1
	case strings.HasPrefix(command, "end "):
		f.Tracer = ""
	case strings.HasPrefix(command, "start the container with"):
		r.Perf = true
	default:
		return false
	}
	return true
}

// TestTierAndNextCommand: who gets which tier, why, and that the command gives at least the tier that it promises.
func TestTierAndNextCommand(t *testing.T) {
	for _, c := range []struct {
		name string
		r    Rights
		f    *Facts
		want Tier
		why  string
		cmd  string
	}{
		{"root", root, &ownOne, TierRows, "", ""},
		{"root, no target", root, nil, TierRows, "", ""},
		{"nobody, own process", nobody, &ownOne, TierProbe, "CAP_BPF", "sudo culprit attach 7"},
		{"nobody, no target", nobody, nil, TierProbe, "CAP_BPF", "sudo culprit attach TARGET"},
		{"nobody, foreign process", nobody, &foreign, TierNone, "mappings", "sudo culprit attach 7"},
		{"root, held back", root, &foreign, TierNone, "its mappings may not be read, and probably a security module", ""},
		{"yama 1", nobody.with(func(r *Rights) { r.Yama = 1 }), ownOne.with(func(f *Facts) { f.Attach = false }), TierRunning, "children only", "sudo sysctl kernel.yama.ptrace_scope=0"},
		{"yama 1, no target", nobody.with(func(r *Rights) { r.Yama = 1 }), nil, TierRunning, "children only", "sudo sysctl kernel.yama.ptrace_scope=0"},
		{"yama 1, child", nobody.with(func(r *Rights) { r.Yama = 1 }), &ownOne, TierProbe, "CAP_BPF", "sudo culprit attach 7"},
		{"yama 1, root", root.with(func(r *Rights) { r.Yama = 1 }), nil, TierRows, "", ""},
		{"yama 2", nobody.with(func(r *Rights) { r.Yama = 2 }), ownOne.with(func(f *Facts) { f.Attach = false }), TierRunning, "ptrace_scope=2", "sudo culprit attach 7"},
		{"yama 3, root", root.with(func(r *Rights) { r.Yama = 3 }), ownOne.with(func(f *Facts) { f.Attach = false }), TierRunning, "next boot", ""},
		{"no perf, yama 1", nobody.with(func(r *Rights) { r.Yama, r.Paranoid, r.Perf = 1, 4, false }), ownOne.with(func(f *Facts) { f.Attach = false }), TierProc, "perf_event_paranoid is 4", "sudo sysctl kernel.perf_event_paranoid=2"},
		{"no perf at all, yama 1", nobody.with(func(r *Rights) { r.Yama, r.Paranoid, r.Perf = 1, -1, false }), ownOne.with(func(f *Facts) { f.Attach = false }), TierProc, "children only", "sudo sysctl kernel.yama.ptrace_scope=0"},
		{"no perf, may trace", nobody.with(func(r *Rights) { r.Paranoid, r.Perf = 4, false }), &ownOne, TierProbe, "CAP_BPF", "sudo culprit attach 7"},
		{"container without perf, traced", nobody.with(func(r *Rights) { r.Perf = false }), ownOne.with(func(f *Facts) { f.Tracer = "gdb (pid 9)" }), TierProc, "perf_event_open", "start the container with --security-opt seccomp=unconfined"},
		{"traced", root, ownOne.with(func(f *Facts) { f.Tracer = "gdb (pid 9)" }), TierSample, "gdb (pid 9) traces it", "end gdb (pid 9), or let it detach"},
		{"filtered, root", root, ownOne.with(func(f *Facts) { f.Filtered = true }), TierRows, "", ""},
		{"filtered, nobody", nobody, ownOne.with(func(f *Facts) { f.Filtered = true }), TierSample, "seccomp", "sudo culprit attach 7"},
		{"a thread that forbids the counter", root, ownOne.with(func(f *Facts) { f.Forbids = "PR_SET_TSC" }), TierSample, "PR_SET_TSC", ""},
		{"noexec", root.with(func(r *Rights) { r.Noexec = 2 }), &ownOne, TierSample, "memfd_noexec", "sudo sysctl vm.memfd_noexec=1"},
		{"no BTF", root.with(func(r *Rights) { r.BTF = false }), &ownOne, TierProbe, "BTF", ""},
		{"kernel 5.15", root.with(func(r *Rights) { r.Lacks = "since Linux 5.18" }), &ownOne, TierProbe, "5.18", ""},
		{"lockdown", root.with(func(r *Rights) { r.Lockdown = true }), &ownOne, TierProbe, "locked down", ""},
		{"root of a user namespace", inside, &ownOne, TierProbe, "do not count for eBPF", "sudo culprit attach 7, outside of the container"},
		{"root of a user namespace, foreign", inside, ownOne.with(func(f *Facts) { f.Attach = false }), TierRunning, "outside of the user namespace", "sudo culprit attach 7, outside of the container"},
		{"32 bit", root, ownOne.with(func(f *Facts) { f.Wrong = "a program of 32 bits" }), TierNone, "32 bits", ""},
	} {
		v := Judge(c.r, c.f)
		if v.Tier != c.want || !strings.Contains(v.Why, c.why) || v.Command != c.cmd || (v.Why == "") != (v.Tier == TierRows) {
			t.Errorf("%s: %v, since %q; command %q; want %v, %q, %q", c.name, v.Tier, v.Why, v.Command, c.want, c.why, c.cmd)
		}
		if check := v.Check(); check.Level != OK && check.Remedy == "" || check.Value == "" || (check.Level == Fail) != (v.Tier == TierNone) {
			t.Errorf("%s: check %+v", c.name, check)
		}
		if v.Command == "" {
			if v.Next != v.Tier {
				t.Errorf("%s: promises %v without a command", c.name, v.Next)
			}
			continue
		}
		r, f := c.r, c.f
		if f != nil {
			f = f.with(func(*Facts) {})
		}
		if !effects(v.Command, &r, f) {
			t.Fatalf("%s: nobody knows what %q does", c.name, v.Command)
		}
		after := Judge(r, f)
		t.Logf("%-36s %v -> %s -> %v", c.name, v.Tier, v.Command, after.Tier)
		if after.Tier < v.Next || after.Tier <= v.Tier {
			t.Errorf("%s: %q gives %v, not %v", c.name, v.Command, after.Tier, v.Next)
		}
	}
}

// TestGatheredFacts: what is read of this process and a child agrees with the checks.
func TestGatheredFacts(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	r, f := Gather(), FactsOf(cmd.Process.Pid)
	if !f.Readable || !f.Attach || f.Wrong != "" || f.Tracer != "" {
		t.Errorf("a child: %+v", f)
	}
	self, _ := readStatus("self")
	if r.Ptrace != self.has(capSysPtrace) || f.Filtered != (self["Seccomp"] != "0") {
		t.Errorf("%+v, %+v", r, f)
	}
	if v := Judge(r, f); v.Tier < TierSample {
		t.Errorf("of a child nothing better than %v can be had: %s", v.Tier, v.Why)
	}
	for _, wrong := range []*Facts{FactsOf(2), FactsOf(4194999)} {
		if v := Judge(r, wrong); v.Tier != TierNone || v.Why == "" {
			t.Errorf("%+v: %+v", wrong, v)
		}
	}
	if os.Geteuid() == 0 && r.Ptrace && Judge(r, nil).Tier < TierProbe && r.Yama < 3 && r.Noexec < 2 {
		t.Errorf("root gets %+v", Judge(r, nil))
	}
}

func TestSoften(t *testing.T) {
	checks := []Check{{Name: "tracer", Level: Fail}, {Name: "kernel", Level: Fail}, {Name: "permission", Level: Note}}
	Soften(checks, Verdict{Tier: TierSample})
	if checks[0].Level != Note || checks[1].Level != Fail {
		t.Errorf("%+v", checks)
	}
	checks[0].Level = Fail
	if Soften(checks, Verdict{}); checks[0].Level != Fail {
		t.Errorf("%+v", checks)
	}
}
