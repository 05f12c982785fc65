package process

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	"culprit/daemon/process/resume"
)

// noRestartSource goes under a filter that ends the process for restart_syscall, and waits again and again for 20 and for 900 ms in the
// call that its argument names. It prints how many waits were too short, how many gave something else, and the longest in ms.
const noRestartSource = `
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static volatile int done; static volatile long waits, early, wrong, longest; static const char *how;
static long now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1000000000 + t.tv_nsec; }
static int once(long ms) { static int word; struct timespec t = {0, ms * 1000000};
  if (!strcmp(how, "poll")) return poll(0, 0, ms);
  if (!strcmp(how, "nanosleep")) return nanosleep(&t, 0);
  if (!strcmp(how, "clock")) return clock_nanosleep(CLOCK_REALTIME, 0, &t, 0);
  return syscall(SYS_futex, &word, FUTEX_WAIT, 0, &t, 0, 0) == -1 && errno == ETIMEDOUT ? 0 : -1; }
static void *waiter(void *a) { long ms = (long)a; while (!done) { long t = now(); if (once(ms)) wrong++; t = now() - t; if (t < ms * 1000000) early++; if (t / 1000000 > longest) longest = t / 1000000; waits++; } return a; }
int main(int argc, char **argv) { char c; pthread_t t[2]; how = argv[1];
  struct sock_filter f[] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_restart_syscall, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
  struct sock_fprog p = {4, f}; prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p)) return 1; prctl(PR_SET_DUMPABLE, 1);
  pthread_create(&t[0], 0, waiter, (void *)20); pthread_create(&t[1], 0, waiter, (void *)900);
  puts("ready"); fflush(stdout); while (read(0, &c, 1) > 0); done = 1; pthread_join(t[0], 0); pthread_join(t[1], 0);
  printf("waits %ld\nearly %ld\nwrong %ld\nlongest %ld\n", waits, early, wrong, longest); return 0; }
`

// TestWaitsUnderFilter: a filter without restart_syscall ends nobody, no wait is too short, and none lasts for as long as stops come.
func TestWaitsUnderFilter(t *testing.T) {
	for _, how := range []string{"poll", "nanosleep", "clock", "futex"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			tg := start(t, compile(t, noRestartSource), how)
			p := open(t, tg.pid())
			stops := 0
			for begin := time.Now(); time.Since(begin) < 4*time.Second; stops++ {
				stop(t, p, nothing)
				time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
			}
			res := tg.finish()
			t.Logf("%d stops; target: %v", stops, res)
			if res["waits"] < 20 || res["early"] != 0 || res["wrong"] != 0 {
				t.Errorf("target: %v", res)
			}
			if resume.HighHalfIgnored() && res["longest"] > 2500 {
				t.Errorf("a wait of 900 ms lasted %d ms", res["longest"])
			}
		})
	}
}

// TestWaitsUnderFilterWithoutRights: who may not read the filter takes it for one that lets nothing pass that the program did not do itself.
func TestWaitsUnderFilterWithoutRights(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root to become another user")
	}
	cmd := exec.Command(compile(t, noRestartSource), "poll")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	tg := startCmd(t, cmd)
	for range 10 {
		if out := runAs(t, 65534, "mapper", tg.pid()); out == "" {
			t.Error("a call was made in spite of the filter")
		}
	}
	if res := tg.finish(); res["early"] != 0 || res["wrong"] != 0 || res["waits"] == 0 {
		t.Errorf("target: %v", res)
	}
}

// TestKilledUnderFilter: a tracer that is killed before it has put right what it broke into leaves nobody to such a filter, as it breaks into nothing.
func TestKilledUnderFilter(t *testing.T) {
	knowingTransfers(t)
	for _, how := range []string{"poll", "nanosleep", "clock", "futex"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			tg := start(t, compile(t, noRestartSource), how)
			for _, point := range []string{"stop.one-seized", "stop.seized", "stop.interrupted", raw.LeftInCalls, "stop.stopped"} {
				for nth := range 3 {
					killVictim(t, tg, point, 1+nth, "knows")
				}
			}
			if res := tg.finish(); res["waits"] == 0 || res["early"] != 0 || res["wrong"] != 0 {
				t.Errorf("target: %v", res)
			}
		})
	}
}

func init() { helpers["hog"] = hog }

// hog takes the first CPU for a while, before all that has no real-time priority.
func hog([]string) int {
	runtime.LockOSThread()
	if onFirstCPU() != nil || unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0) != nil {
		return 1
	}
	os.Stdout.WriteString("on")
	for began := time.Now(); time.Since(began) < 850*time.Millisecond; { // the kernel gives the others 50 ms of each second
	}
	return 0
}

func onFirstCPU() error {
	var first unix.CPUSet
	first.Set(0)
	return unix.SchedSetaffinity(0, &first)
}

// TestClosedWithoutCPU: threads that were broken out of waits and get no CPU are waited for when the process is closed: a filter would end the program for
// what the kernel makes of their calls.
func TestClosedWithoutCPU(t *testing.T) {
	if os.Geteuid() != 0 || runtime.NumCPU() < 2 {
		t.Skip("needs root, to have a process with a real-time priority, and two CPUs")
	}
	bin := compile(t, noRestartSource)
	for range 3 {
		tg := onOneCPU(t, bin, "poll")
		p := open(t, tg.pid())
		stop(t, p, nothing)
		time.Sleep(100 * time.Millisecond)
		cmd := self("hog")
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		_, err = out.Read(make([]byte, 2))
		must(t, err)
		var late *Deferred
		if _, err := p.Stop(t.Context(), StopOptions{Deadline: 20 * time.Millisecond}, nothing); !errors.As(err, &late) {
			t.Logf("the threads had a CPU: %v", err) // beside other tests
		}
		p.Close()
		must(t, cmd.Wait())
		if res := tg.finish(); res["waits"] == 0 || res["early"] != 0 || res["wrong"] != 0 {
			t.Errorf("target: %v", res)
		}
	}
}

// onOneCPU starts a target that may use the first CPU only.
func onOneCPU(t *testing.T, bin string, args ...string) (tg *target) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all unix.CPUSet
	must(t, unix.SchedGetaffinity(0, &all))
	must(t, onFirstCPU())
	defer func() { must(t, unix.SchedSetaffinity(0, &all)) }()
	return start(t, bin, args...)
}
