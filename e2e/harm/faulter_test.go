package harm

import (
	"fmt"
	"testing"
	"time"
)

// recovering are the functions of faulter.c whose faults are recovered by where they happen.
var recovering = []string{"by_label", "by_range", "by_table", "by_section", "by_division"}

// faulter gives a scenario in which a program recovers from faults by the address of the instruction.
func faulter(args ...string) func(*round) string {
	return func(r *round) string { return recovers(r, args...) }
}

func recovers(r *round, args ...string) string {
	p := r.target(r.build("faulter.c"), args...)
	if r.control() {
		fmt.Fprintln(p.Stdin, "go")
		time.Sleep(200 * time.Millisecond)
		return r.harmTo(p, faulterHash)
	}
	watch := []string{"--no-search"}
	for _, f := range recovering {
		watch = append(watch, "--watch", "cpu_inclusive@/Code/faulter/"+f, "--watch", "cpu_inclusive@/Code/faulter.c/"+f)
	}
	time.AfterFunc(time.Second, func() { fmt.Fprintln(p.Stdin, "go") })
	res := r.attach(p, 3*time.Second, watch...)
	if p.Alive() && res.status != 0 && testing.Verbose() {
		r.Logf("culprit: status %d: %s %s", res.status, res.out, res.err)
	}
	return r.harmTo(p, faulterHash)
}

const faulterHash = "25b87b0bf92513bd"
