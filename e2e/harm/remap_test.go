package harm

import (
	"fmt"
	"time"

	"culprit/internal/testprog"
)

const remapHash = "43f2ea61afdc9fbe"

// remapped measures a program that does a step with its own code meanwhile, and others once culprit has detached, or was killed and
// `culprit restore` has undone what it left.
func remapped(kill bool, step string, then ...string) func(*round) string {
	return func(r *round) string { return remap(r, kill, []string{step}, then) }
}

func remap(r *round, kill bool, steps, then []string) string {
	p := r.target(r.build("remap.c"))
	args := []string{"attach", fmt.Sprint(p.PID), "--no-tui", "--no-search", "--for", "4s"}
	for _, f := range []string{"leaf", "inner", "outer", "work"} {
		args = append(args, "--watch", "procedure_calls@/Code/remap.c/"+f, "--watch", "exec_time_inclusive@/Code/remap.c/"+f)
	}
	var ended chan struct{}
	if !r.control() {
		ended = make(chan struct{})
		cmd := r.start(args...)
		go func() { _ = cmd.Wait(); close(ended) }()
		time.Sleep(1500 * time.Millisecond) // the probes are in
		defer func() { _ = cmd.Process.Kill(); <-ended }()
		tell(r, p, steps)
		if kill {
			_ = cmd.Process.Kill()
		}
		<-ended
		if kill && p.Alive() {
			r.run("restore", fmt.Sprint(p.PID))
		}
	} else {
		tell(r, p, steps)
	}
	if n := left(p.PID); n > 0 {
		return fmt.Sprintf("%d mappings of culprit are left", n)
	}
	if !r.control() && p.Alive() {
		if res := r.run("detach", "--verify", fmt.Sprint(p.PID)); res.status != 0 {
			return fmt.Sprintf("detach --verify: status %d: %s%s", res.status, res.out, res.err)
		}
	}
	tell(r, p, then)
	time.Sleep(100 * time.Millisecond)
	return r.harmTo(p, remapHash)
}

// tell gives a target its lines, and waits each time until it has done as told, or is dead.
func tell(r *round, p *testprog.Prog, lines []string) {
	for _, line := range lines {
		if !p.Alive() {
			return
		}
		fmt.Fprintln(p.Stdin, line)
		time.Sleep(800 * time.Millisecond)
	}
}
