package harm

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"culprit/internal/require"
	"culprit/internal/testprog"
)

// fdswap: descriptors are swapped under whoever opens what a target has open.
func fdswap(r *round) string {
	require.Root(r.T)
	const text = "ten bytes."
	victim := filepath.Join(allCanSee, fmt.Sprintf("victim%d", time.Now().UnixNano()))
	if err := os.WriteFile(victim, []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
	defer os.Remove(victim)
	p := r.targetOf(nobody, r.build("fdswap.c"), victim)
	for range 6 {
		if !r.control() {
			r.attach(p, 100*time.Millisecond, "--children=false")
		}
		if st, err := os.Stat(victim); err != nil || st.Size() != int64(len(text)) {
			p.Kill()
			return fmt.Sprintf("a file of root has changed its size from %d to %d bytes", len(text), st.Size())
		}
	}
	if now, err := os.ReadFile(victim); err != nil || string(now) != text {
		return "a file of root has changed"
	}
	return r.harmTo(p, "")
}

// childWrites: a forked child without rights writes to what its parent runs, or reads in its probes.
func childWrites(what string) func(r *round) string {
	return func(r *round) string {
		require.Root(r.T)
		p := r.target(r.build("privsep.c"))
		if !r.control() {
			r.start("attach", fmt.Sprint(p.PID), "--no-tui", "--for", "4s", "--children=false", "--watch", "cpu_inclusive@/Code/privsep.c/work",
				"--watch", "off_cpu@/Code/privsep.c/work", "--watch", "ready_wait@/Code/privsep.c/work")
			for until := time.Now().Add(10 * time.Second); left(p.PID) < 3 && time.Now().Before(until); {
				time.Sleep(10 * time.Millisecond)
			}
			time.Sleep(1500 * time.Millisecond)
		}
		p.Say(r.T, what)
		for until := time.Now().Add(10 * time.Second); p.Alive() && !said(p, "DONE") && time.Now().Before(until); {
			time.Sleep(10 * time.Millisecond)
		}
		return r.harmTo(p, "")
	}
}

func said(p *testprog.Prog, word string) bool {
	for _, l := range p.Lines() {
		if strings.HasPrefix(l, word) {
			return true
		}
	}
	return false
}

// killedAtFirstMapping: culprit is killed as soon as anything of it shows in the target; what it left must come out.
func killedAtFirstMapping(r *round) string {
	p := r.target(r.build("lockall.c"), "free")
	for range 10 {
		if r.control() {
			break
		}
		cmd := r.start("attach", fmt.Sprint(p.PID), "--no-tui", "--for", "5s", "--children=false")
		for until := time.Now().Add(10 * time.Second); left(p.PID) == 0 && time.Now().Before(until); {
		}
		_ = cmd.Process.Kill() // it has ended if it failed
		_ = cmd.Wait()
		res := r.run("restore", fmt.Sprint(p.PID))
		if n := left(p.PID); res.status != 0 || n > 0 {
			p.Kill()
			return fmt.Sprintf("restore cannot end it: status %d, %d mappings left: %s", res.status, n, strings.TrimSpace(res.err))
		}
	}
	return r.harmTo(p, "")
}

// versions are those of heads that a binary may believe.
func (r *round) versions() []string { return []string{"1", "2"} }

// fakeHead: a target's head names somebody else's process as the culprit that measures it.
func fakeHead(r *round) string {
	require.Root(r.T)
	for _, version := range r.versions() {
		victim := exec.Command("sleep", "60")
		if err := victim.Start(); err != nil {
			r.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- victim.Wait() }()
		p := r.targetOf(nobody, r.build("fakehead.c"), version, fmt.Sprint(victim.Process.Pid), startOf(r, victim.Process.Pid), "16")
		if !r.control() {
			r.run("detach", fmt.Sprint(p.PID))
			r.run("restore", fmt.Sprint(p.PID))
		}
		select {
		case err := <-ended:
			p.Kill()
			return fmt.Sprintf("a process that the target has named was ended: %v", err)
		default:
		}
		_ = victim.Process.Kill()
		<-ended
		if harm := r.harmTo(p, ""); harm != "" {
			return harm
		}
	}
	return ""
}

// startOf is the start time of a process as /proc says it.
func startOf(r *round, pid int) string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		r.Fatal(err)
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))[19]
}

// fakeLedger: a target's ledger has so many entries that to restore it costs the machine.
func fakeLedger(r *round) string {
	const seconds, mebibytes = 8, 300
	for _, version := range r.versions() {
		for _, capacity := range []int{1 << 17, 1 << 22} {
			p := r.target(r.build("fakehead.c"), version, "1", "1", fmt.Sprint(capacity))
			if !r.control() {
				res := r.run("restore", fmt.Sprint(p.PID))
				if res.took > seconds*time.Second || res.rss > mebibytes<<20 {
					p.Kill()
					return fmt.Sprintf("restore took %v and %d MiB", res.took.Round(time.Second/10), res.rss>>20)
				}
			}
			if harm := r.harmTo(p, ""); harm != "" {
				return harm
			}
		}
	}
	return ""
}

// locksAll: a target that locks all of its memory, in a group that has little of it.
func locksAll(r *round) string {
	require.Root(r.T)
	p := r.target(r.build("lockall.c"), "lock")
	leave := inGroup(p.PID, 64<<20)
	defer leave()
	before, most := lockedBytes(p.PID), int64(0)
	if !r.control() {
		done := make(chan struct{})
		go func() {
			defer close(done) // also where the test ends in it
			r.attach(p, 3*time.Second, "--children=false")
		}()
		for running := true; running; {
			select {
			case <-done:
				running = false
			case <-time.After(5 * time.Millisecond):
				most = max(most, lockedBytes(p.PID))
			}
		}
		const mebibytes = 16
		if p.Alive() && most > before+mebibytes<<20 {
			p.Kill()
			return fmt.Sprintf("%d MiB of the target's memory were filled", (most-before)>>20)
		}
	}
	return r.harmTo(p, "")
}

// inGroup puts a process into a control group of its own with a limit, where that can be done, and says how to take that back.
func inGroup(pid int, limit int64) (leave func()) {
	for _, g := range []struct{ dir, file string }{{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"}} {
		dir := filepath.Join(g.dir, fmt.Sprintf("culprit-harm-%d", pid))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		if os.WriteFile(filepath.Join(dir, g.file), fmt.Append(nil, limit), 0) == nil &&
			os.WriteFile(filepath.Join(dir, "cgroup.procs"), fmt.Append(nil, pid), 0) == nil {
			return func() {
				_ = os.WriteFile(filepath.Join(g.dir, "cgroup.procs"), fmt.Append(nil, pid), 0) // fails if it has ended
				for range 100 {                                                                 // until it has left the group
					if os.Remove(dir) == nil {
						return
					}
					time.Sleep(50 * time.Millisecond)
				}
			}
		}
		_ = os.Remove(dir)
	}
	return func() {}
}

// littleGroup: all functions of a target are watched, each on a page of its own, in a group that has not the memory for so many copies.
func littleGroup(r *round) string {
	require.Root(r.T)
	p := r.target(r.build("manypages.c"))
	leave := inGroup(p.PID, 4<<20)
	defer leave()
	if !r.control() {
		r.attach(p, 4*time.Second, "--children=false", "--no-search", "--watch", "procedure_calls@/Code/manypages.c/*")
	} else {
		time.Sleep(time.Second)
	}
	return r.harmTo(p, "")
}

// fewMappings: a target has nearly as many mappings as it may have, and takes the last of them now and then.
func fewMappings(r *round) string {
	p := r.target(r.build("manymaps.c"), "20")
	if !r.control() {
		r.attach(p, 3*time.Second, "--children=false")
	} else {
		time.Sleep(time.Second)
	}
	return r.harmTo(p, "")
}

// lockedBytes is how much of a process's memory is locked; 0 of one that has ended.
func lockedBytes(pid int) (kib int64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(text), "VmLck:")
	fmt.Sscan(rest, &kib)
	return kib << 10
}

// limitedSpace: a target takes most of the address space that it may have, now and then.
func limitedSpace(which string) func(r *round) string {
	return func(r *round) string {
		p := r.target(r.build("lockall.c"), which)
		if !r.control() {
			r.attach(p, 2*time.Second, "--children=false", "--watch", "procedure_calls@/Code/lockall.c/work")
		}
		return r.harmTo(p, "")
	}
}

// filledLate: a program fills the memory of a stack itself (userfaultfd) from when the probes are in. They are out at the end all the same.
func filledLate(r *round) string {
	p := r.target(r.build("pagefaults.c"), "late")
	fmt.Fprintln(p.Stdin, "go")
	registered := make(chan struct{})
	go func() {
		defer close(registered)
		time.Sleep(2 * time.Second)
		fmt.Fprintln(p.Stdin, "register")
		time.Sleep(time.Second)
	}()
	if !r.control() {
		defer func() { <-registered }()
		return r.harmOfAttach(p, 5*time.Second)
	}
	<-registered
	return r.harmTo(p, "")
}
