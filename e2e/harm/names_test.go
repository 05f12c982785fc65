package harm

import (
	"fmt"
	"time"
)

// sameName: a program whose memory files are called like culprit's is measured, and restored, and has its memory all the same.
func sameName(r *round) string {
	p := r.target(r.build("samename.c"))
	fmt.Fprintln(p.Stdin, "go")
	if r.control() {
		time.Sleep(2 * time.Second)
		return r.harmTo(p, "")
	}
	for range 3 {
		r.attach(p, time.Second)
		r.run("restore", fmt.Sprint(p.PID))
		r.run("detach", fmt.Sprint(p.PID))
	}
	return r.harmTo(p, "")
}

// measuresAnother: a culprit is measured by another one that comes while it begins, and that ends first. It maps memory of its own target.
func measuresAnother(r *round) (harm string) {
	p := r.busy()
	if r.control() {
		return r.harmTo(p, "")
	}
	for i := range 8 {
		measured := r.start("attach", fmt.Sprint(p.PID), "--no-tui", "--quiet", "--for", "3s")
		time.Sleep(time.Duration(10+15*i) * time.Millisecond)
		r.run("attach", fmt.Sprint(measured.Process.Pid), "--no-tui", "--quiet", "--for", "1s")
		if !ended(measured, 30*time.Second) {
			return "the culprit that was measured does not end"
		}
		if status := measured.ProcessState.ExitCode(); !searched(status) && harm == "" {
			harm = fmt.Sprintf("the culprit that was measured ended with status %d", status)
		}
		if h := r.remains(p); h != "" && harm == "" {
			harm = h
		}
	}
	if h := r.harmTo(p, ""); h != "" {
		return h
	}
	return harm
}
