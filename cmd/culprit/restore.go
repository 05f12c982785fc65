package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"culprit/cmd/culprit/internal/proclist"
	"culprit/daemon/attach"
	"culprit/daemon/children"
	"culprit/daemon/patch"
	"culprit/daemon/process"
	"culprit/daemon/segment"
	"culprit/daemon/target"
	"culprit/session/socket"
)

// detachWait bounds how long another culprit gets to remove its probes, in line with the half second that any pause of a
// target may last.
const detachWait = 10 * time.Second

func newDetach() *cobra.Command {
	var verify bool
	cmd := &cobra.Command{
		Use: "detach TARGET", Short: "Remove all probes of any culprit from a process",
		Long: `detach asks the culprit that measures the process to end, and waits until all of its probes are
removed. Those of yours that only take stack samples of it are asked as well. If a culprit was
killed, detach removes its probes itself, also from the children of the process: the ledger of
changes is kept in the process. With --verify the code in memory is compared with the files that
it came from.`,
		Args: takes(1, 1, "a process: culprit detach PID, or culprit detach NAME"),
		RunE: body(func(cmd *cobra.Command, args []string) error { return detach(cmd.OutOrStdout(), args[0], verify) }),
	}
	cmd.Flags().BoolVar(&verify, "verify", false, "compare the code of the process with its files; exit status 1 if anything differs")
	return cmd
}

func detach(w io.Writer, target string, verify bool) error {
	pid, err := proclist.Resolve(target)
	if err != nil {
		return err
	}
	if err := refuseFrozen(pid, "detach"); err != nil {
		return err
	}
	owner, alive, found, err := segment.Owner(pid)
	switch {
	case err != nil:
		return err
	case found && alive:
		err = endOwner(w, pid, owner)
	default:
		var begun *segment.InUse // by a culprit that has come meanwhile
		if err = restoreTree(w, pid); errors.As(err, &begun) && begun.PID == pid {
			err = endOwner(w, pid, begun.Owner)
		} else if err == nil {
			err = endSamplers(w, pid)
		}
	}
	if err == nil && verify {
		err = verifyClean(w, pid)
	}
	return err
}

// endSamplers asks those culprits of this user to end that measure a process and have nothing in it, and waits until they have.
func endSamplers(w io.Writer, pid int) error {
	own := slices.DeleteFunc(socket.Sessions(), func(s socket.Session) bool { return s.UID != os.Geteuid() })
	for _, a := range askAll(own) {
		if a.err != nil || !measures(a.report, pid) {
			continue
		}
		start := process.StartTime(a.PID)
		if err := syscall.Kill(a.PID, syscall.SIGINT); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("culprit %d, which takes stack samples of process %d: %w", a.PID, pid, err)
		}
		for deadline := time.Now().Add(detachWait); process.StartTime(a.PID) == start && start != 0; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				return fmt.Errorf("culprit %d, which takes stack samples of process %d, did not end within %v; end it: kill -KILL %d", a.PID, pid, detachWait, a.PID)
			}
		}
		fmt.Fprintf(w, "process %d: culprit %d, which took stack samples of it, has ended\n", pid, a.PID)
	}
	return nil
}

// refuseFrozen refuses what needs a process to run: one that is frozen makes no call, and who asks for one waits for as long as it is.
func refuseFrozen(pid int, command string) error {
	by := process.FrozenBy(pid)
	if by == "" {
		return nil
	}
	return fmt.Errorf("process %d is frozen by its control group (%s), and stays as it is; thaw it, then: culprit %s %d", pid, by, command, pid)
}

// endOwner asks the culprit that measures pid to end, and waits until its probes are out.
func endOwner(w io.Writer, pid, owner int) error {
	stopped := socket.Stopped(owner)
	_, err := segment.EndOwner(pid)
	switch {
	case errors.Is(err, syscall.EPERM):
		return &statusError{exitForbidden, fmt.Errorf("process %d is measured by process %d of another user; this would help: sudo culprit detach %d", pid, owner, pid)}
	case err != nil && !errors.Is(err, syscall.ESRCH): // it has ended by itself, or will be seen to have
		if _, alive, _, again := segment.Owner(pid); again != nil || alive {
			return err
		}
	}
	if stopped { // it takes the signal when it runs again
		fmt.Fprintf(w, "culprit %d was stopped by a signal: it is continued to remove its probes\n", owner)
		if err := syscall.Kill(owner, syscall.SIGCONT); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("culprit %d cannot be continued: %w", owner, err)
		}
	}
	var gone time.Time
	for deadline := time.Now().Add(detachWait); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		_, alive, found, err := segment.Owner(pid)
		switch {
		case err != nil:
			return err
		case !found && gone.IsZero():
			gone = time.Now()
		case !found && (process.Traces(owner, pid) || process.StartTime(owner) != 0 && time.Since(gone) < lastStops): // it looks once more, and lets go
		case !found:
			fmt.Fprintf(w, "process %d: culprit %d has ended and removed its probes\n", pid, owner)
			return nil
		case !alive:
			return restoreTree(w, pid)
		}
	}
	return fmt.Errorf("culprit %d did not remove its probes from process %d within %v; end it (kill -KILL %d), then: culprit restore %d",
		owner, pid, detachWait, owner, pid)
}

// lastStops is how long a culprit may need to let go of a process in which it has no memory any more.
const lastStops = 2 * time.Second

func newRestore() *cobra.Command {
	return &cobra.Command{
		Use: "restore TARGET", Short: "Remove probes left behind by a culprit that was killed",
		Args: takes(1, 1, "a process: culprit restore PID, or culprit restore NAME"),
		RunE: body(func(cmd *cobra.Command, args []string) error {
			pid, err := proclist.Resolve(args[0])
			if err != nil {
				return err
			}
			if err := refuseFrozen(pid, "restore"); err != nil {
				return err
			}
			owner, alive, found, err := segment.Owner(pid)
			switch {
			case err != nil:
				return err
			case found && alive:
				return &segment.InUse{PID: pid, Owner: owner}
			}
			return restoreTree(cmd.OutOrStdout(), pid)
		}),
	}
}

// restoreTree restores a process and those of its descendants in which a culprit that is gone has left something. A descendant that ends meanwhile, or
// executes another program, has nothing left to be restored.
func restoreTree(w io.Writer, pid int) error {
	err := restore(w, pid)
	for _, p := range children.Descendants(pid) {
		start := process.StartTime(p)
		if _, alive, found, e := segment.Owner(p); e != nil || !found || alive {
			continue
		}
		if e := restore(w, p); !process.SaysGone(e) && !hasEnded(p, start) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// hasEnded says whether a process that was started at a time has no thread any more that runs.
func hasEnded(pid int, start uint64) bool {
	if process.StartTime(pid) != start {
		return true
	}
	threads, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	return !slices.ContainsFunc(threads, func(e os.DirEntry) bool {
		tid, err := strconv.Atoi(e.Name())
		return err == nil && !strings.ContainsRune("ZX", rune(process.ThreadState(pid, tid)))
	})
}

func restore(w io.Writer, pid int) error {
	present, err := segment.Present(pid)
	if err != nil {
		return err
	}
	if !present { // it need not be stopped to find that out, which a debugger would prevent
		_, err = fmt.Fprintf(w, "process %d: there is nothing of culprit in it\n", pid)
		return err
	}
	r, err := target.Restore(pid)
	if err != nil {
		return err
	}
	state := "its memory is unmapped"
	if r.Staying > 0 {
		state = fmt.Sprintf("%d mappings stay until it ends: %s", r.Staying, whyStaying)
	}
	_, err = fmt.Fprintf(w, "process %d: %d sites in the ledger: %d restored, %d unchanged already; %s\n", pid, r.Sites, r.Restored, r.Already, state)
	return err
}

// whyStaying is why memory of ours is left on purpose.
const whyStaying = "the program schedules its own contexts, which may return to trampolines; no code leads there any more"

// maxDetails bounds the differences that are listed.
const maxDetails = 20

func verifyClean(w io.Writer, pid int) error {
	var v patch.VerifyReport
	err := attach.InTurn(pid, func(pid int) (err error) { // a culprit that is just ending traces it for a moment
		v, err = patch.Verify(pid)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%d bytes differ, %d mappings of ours, TracerPid %d\n", v.DifferingBytes, v.Mappings-v.Staying, v.TracerPID)
	if v.Descriptors > 0 {
		fmt.Fprintf(w, "%d descriptors of ours are open in it\n", v.Descriptors)
	}
	if v.Staying > 0 {
		fmt.Fprintf(w, "%d more mappings stay on purpose until it ends: %s\n", v.Staying, whyStaying)
	}
	for i, d := range v.Details {
		if i == maxDetails {
			fmt.Fprintf(w, "  and %d more\n", len(v.Details)-i)
			break
		}
		fmt.Fprintf(w, "  %s\n", cleanLines(d))
	}
	if v.TracerPID = 0; !v.Clean() { // a debugger is none of ours, and a culprit that traces it has mappings in it
		if err := attach.Owned(pid); err != nil { // one that has begun meanwhile
			return err
		}
		return exitWith(exitFailed)
	}
	return nil
}
