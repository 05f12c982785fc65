package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"culprit/internal/testprog"
)

// threeThreads is a program of Python that has three threads compute, of which the interpreter's lock lets one run at a time. A thread waits for it with
// a time limit, again and again, until the one that has it lets go.
const threeThreads = `
import threading
def work():
    while True:
        sum(i * i for i in range(20000))
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
print("ready", flush=True)
input()
`

// TestLockOfAnInterpreter: threads that compute in turn wait for the lock that lets one of them run; and none of them is said to use more than it does, in
// whichever function.
func TestLockOfAnInterpreter(t *testing.T) {
	p := testprog.StartCmd(t, exec.Command("/usr/bin/python3", "-c", threeThreads))
	r := start(t, "attach", "--no-tui", "--for", "12s", "--json", "@REPORT", fmt.Sprint(p.PID)).want(statusBottleneck).read()
	t.Log(r.sentences())
	r.mustFind(t, "ExcessiveSyncWaitingTime", "condition variable")
	uses := map[string]float64{}
	for _, n := range r.Nodes {
		if n.Hypothesis == "CPUbound" && len(n.Focus) == 1 {
			uses[n.Focus["Process"]] = n.Value
		}
	}
	for _, n := range r.Nodes {
		if at := n.Focus["Process"]; n.Hypothesis == "CPUbound" && n.State == "true" && strings.Contains(at, "/thr_") && n.Value > uses[at]+0.15 {
			t.Errorf("%v uses %.2f, and its thread %.2f", n.Focus, n.Value, uses[at])
		}
	}
}
