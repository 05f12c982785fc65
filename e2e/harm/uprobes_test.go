package harm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"

	"culprit/internal/require"
)

// runUprobes has the kernel count the calls of all functions of the program that culprit was to attach to, for as long.
func (r *round) runUprobes(args []string) result {
	r.Helper()
	bpftrace := require.Tool(r.T, "bpftrace")
	span, err := time.ParseDuration(following(args, "--for"))
	if err != nil || args[0] != "attach" {
		r.incomparable = true
		return result{}
	}
	pid, err := strconv.Atoi(args[1])
	if err != nil {
		r.Fatalf("uprobes: %v: attach what?", args)
	}
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return result{status: 1, err: err.Error()} // the target has ended already
	}
	script := fmt.Sprintf("uprobe:%s:* { @calls = count(); } interval:ms:%d { exit(); }", exe, span.Milliseconds())
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Minute) // as culprit gets
	defer cancel()
	cmd := exec.CommandContext(ctx, bpftrace, "-p", strconv.Itoa(pid), "-e", script)
	cmd.Env = append(os.Environ(), "BPFTRACE_MAX_PROBES=5000")
	out, _ := cmd.CombinedOutput() // what it could not probe is not probed; the target is what counts
	return result{out: string(out)}
}

// following is the argument behind a flag, "" if it is not there.
func following(args []string, flag string) string {
	i := slices.Index(args, flag)
	if i < 0 || i+1 == len(args) {
		return ""
	}
	return args[i+1]
}
