package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/daemon/syscalls"
)

func init() { helpers["victim"] = victim }

// victim is a tracer that stops a process and makes calls in it until it is killed, or kills itself the nth time it comes to a fault point.
func victim(args []string) int {
	pid, _ := strconv.Atoi(args[0])
	point, nth := args[1], atoi(args[2])
	raw.Fault = func(name string) {
		if name == point {
			if nth--; nth == 0 {
				_ = unix.Kill(os.Getpid(), unix.SIGKILL)
				select {}
			}
		}
	}
	p, err := Open(pid)
	if err != nil {
		fmt.Fprintln(os.Stderr, "victim:", err)
		return 3
	}
	with := args[3:]
	if point == raw.AtTransfersEnd || slices.Contains(with, "transfers") {
		know, err := syscalls.OpenTransfers(syscalls.NewTypes())
		if err != nil {
			fmt.Fprintln(os.Stderr, "victim:", err)
			return 3
		}
		p.KnowTransfers(know)
	}
	fmt.Println("ready")
	for {
		_, err := p.Stop(context.Background(), StopOptions{Deadline: 5 * time.Second}, func(w *World) error {
			at, err := w.Mmap(0, raw.PageSize, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, -1, 0)
			if err != nil {
				return err
			}
			if point == ownPage || slices.Contains(with, "page") {
				if err := passStderr(w); err != nil {
					return err
				}
			}
			return w.Munmap(at, raw.PageSize)
		})
		if err != nil && !errors.As(err, new(*raw.Deferred)) {
			fmt.Fprintln(os.Stderr, "victim:", err)
			return 4
		}
	}
}

// ownPage is the point at which there is a page of ours from which calls are made.
const ownPage = "call.own-page"

// passStderr gives the target a descriptor, for which such a page is needed, and closes it.
func passStderr(w *World) error {
	got, err := w.PassFDs([]int{2}, func(...int) error { return nil })
	if err != nil {
		return err
	}
	return w.CloseFD(got[0])
}

// self starts this test binary anew as one of its helpers.
func self(name string, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), "PROCESS_TEST_HELPER="+name)
	return cmd
}

// endsByKill waits for a helper that must die of SIGKILL.
func endsByKill(t *testing.T, cmd *exec.Cmd, said fmt.Stringer) {
	t.Helper()
	err := cmd.Wait()
	var ee *exec.ExitError
	if !errors.As(err, &ee) || ee.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the tracer ended otherwise: %v: %s", err, said)
	}
}

// untraced checks that nobody traces or stops any thread of the process any more.
func untraced(t *testing.T, pid int) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for {
		if !strings.Contains(describe(pid), " t tracer") && !anyTraced(pid) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still traced: %s", describe(pid))
		}
		time.Sleep(200 * time.Microsecond)
	}
}

func anyTraced(pid int) bool {
	tids, _ := raw.Tasks(pid)
	for _, tid := range tids {
		if s, err := raw.ReadStatus(pid, tid); err == nil && s.Tracer != 0 {
			return true
		}
	}
	return false
}

// killVictim starts a victim and waits for its end. One with "transfers" knows which threads move data, one with "page" makes calls from a page of ours.
func killVictim(t *testing.T, tg *target, point string, nth int, with ...string) {
	t.Helper()
	cmd := self("victim", append([]string{itoa(tg.pid()), point, itoa(nth)}, with...)...)
	var out bytes.Buffer
	cmd.Stderr = &out
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill(); t.Errorf("point %s was not reached: %s", point, out.String()) })
	defer timer.Stop()
	if _, err := stdout.Read(make([]byte, 1)); err != nil && point == "" {
		t.Fatalf("victim did not start: %s", out.String())
	}
	if point == "" {
		time.Sleep(time.Duration(rand.IntN(20000)) * time.Microsecond)
		must(t, cmd.Process.Kill())
	}
	endsByKill(t, cmd, &out)
	untraced(t, tg.pid())
}

// TestTracerKilledAtEveryPoint kills a tracer at each of its fault points; the target must go on with all its state.
func TestTracerKilledAtEveryPoint(t *testing.T) {
	for _, mode := range []string{"running", "blocked", "running offstack", "blocked offstack"} {
		t.Run(mode, func(t *testing.T) {
			tg := start(t, compile(t, stateSource), strings.Fields(mode)...)
			for i, point := range raw.FaultPoints {
				switch {
				case point == "stop.broken-call" && strings.HasPrefix(mode, "running"): // no thread is in such a call
				case strings.HasPrefix(point, "call.") && point != ownPage:
					for nth := range 4 { // offstack: from a stack, twice from a page of ours behind one frame, from a stack; else from a stack, the latter twice behind a frame that stays
						killVictim(t, tg, point, 1+nth)
						killVictim(t, tg, point, 1+nth, "page")
					}
				default:
					killVictim(t, tg, point, 1+i%3)
				}
			}
			checkState(t, tg)
		})
	}
}

// TestTracerKilledAtRandom kills a tracer at 100 random instants (with -long at 2,000).
func TestTracerKilledAtRandom(t *testing.T) {
	t.Parallel()
	rounds := 50
	if *long {
		rounds = 1000
	}
	for _, mode := range []string{"running", "blocked"} {
		t.Run(mode, func(t *testing.T) {
			tg := start(t, compile(t, stateSource), mode)
			for range rounds {
				killVictim(t, tg, "", 0)
			}
			checkState(t, tg)
		})
	}
}

// checkState: the target still makes progress, and a new tracer can do what the killed ones did.
func checkState(t *testing.T, tg *target) {
	t.Helper()
	p := open(t, tg.pid())
	isTidy(t, p) // some thread may have to complete the call of a tracer that was killed
	stop(t, p, func(w *World) error {
		_, err := w.Syscall(unix.SYS_GETPID)
		return err
	})
	if d, err := p.DiffText(); err != nil || len(d) != 0 {
		t.Errorf("text differs: %v, %v", d, err)
	}
	res := tg.finish()
	t.Logf("target: %v", res)
	if res["bad"] != 0 || res["loops"] == 0 {
		t.Errorf("the target was harmed: %v", res)
	}
}

// TestPanicAndGoexitInStop: whatever the function does, all threads are released.
func TestPanicAndGoexitInStop(t *testing.T) {
	tg := start(t, compile(t, stateSource), "both")
	p := open(t, tg.pid())
	func() {
		defer func() {
			if r := recover(); !strings.HasPrefix(fmt.Sprint(r), "as told\n") {
				t.Errorf("recovered %v", r)
			}
		}()
		_, _ = p.Stop(context.Background(), StopOptions{}, func(*World) error { panic("as told") })
	}()
	untraced(t, tg.pid())
	if _, err := p.Stop(context.Background(), StopOptions{}, func(*World) error { exitGoroutine(); return nil }); err == nil {
		t.Error("no error from a function that ended its goroutine")
	}
	untraced(t, tg.pid())
	stop(t, p, nothing)
	if res := tg.finish(); res["bad"] != 0 || res["eintr"] != 0 {
		t.Errorf("the target noticed: %v", res)
	}
}

// TestTraces: a thread of ours that traces a process is found by the number of our process.
func TestTraces(t *testing.T) {
	tg := start(t, compile(t, stateSource), "blocked")
	p := open(t, tg.pid())
	ours := func() bool { return Traces(os.Getpid(), tg.pid()) }
	if ours() {
		t.Error("traced before anybody stops it")
	}
	stop(t, p, func(*World) error {
		if !ours() || Traces(os.Getppid(), tg.pid()) {
			t.Errorf("in a stop: by us %v, by our parent %v", ours(), Traces(os.Getppid(), tg.pid()))
		}
		return nil
	})
	if ours() {
		t.Error("traced after the stop")
	}
}
