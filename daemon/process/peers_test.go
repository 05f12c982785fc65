package process

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// peersSource runs three processes on its own memory, one of them with a thread; each counts. When it is told to end it waits for them.
const peersSource = `
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile int done; static volatile long beats[4];
static void spin(volatile long *n) { while (!done) (*n)++; }
static int second(void *a) { spin(&beats[3]); syscall(SYS_exit, 0); return 0; }
static int child(void *a) { long i = (long)a; if (i == 2) clone(second, (char *)mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + (1 << 16), CLONE_VM | CLONE_THREAD | CLONE_SIGHAND | CLONE_FS | CLONE_FILES, 0); spin(&beats[i]); usleep(1000); _exit(0); }
int main(void) { char c; pid_t p[3]; int bad = 0, st;
  for (long i = 0; i < 3; i++) p[i] = clone(child, (char *)mmap(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + (1 << 16), CLONE_VM | (i ? SIGCHLD : 0), (void *)i);
  while (!beats[0] || !beats[1] || !beats[2] || !beats[3]); puts("ready"); fflush(stdout);
  while (read(0, &c, 1) > 0); long old[4], still = 0; for (int i = 0; i < 4; i++) old[i] = beats[i]; usleep(200000); for (int i = 0; i < 4; i++) still += beats[i] == old[i];
  done = 1; for (int i = 0; i < 3; i++) if (waitpid(p[i], &st, __WALL) != p[i] || st) bad++;
  printf("bad %d\nstill %ld\n", bad, still); return 0; }
`

// TestPeersStandStill: processes that share the target's memory are stopped with it, and let go.
func TestPeersStandStill(t *testing.T) {
	tg := start(t, compile(t, peersSource))
	p := open(t, tg.pid())
	found := raw.PeersOf(tg.pid())
	if len(found) == 0 {
		t.Skip("this kernel does not tell who shares memory (CONFIG_KCMP)")
	}
	var worst time.Duration
	for range 20 {
		pause := stop(t, p, func(w *World) error {
			if w.Peers() != 3 || len(w.Threads()) != 5 {
				t.Errorf("%d peers, %d threads; want 3 and 5", w.Peers(), len(w.Threads()))
			}
			for _, pid := range found {
				for _, tid := range must2(raw.Tasks(pid)) {
					if s := raw.ThreadState(pid, tid); s != 't' {
						t.Errorf("thread %d of peer %d is in state %c", tid, pid, s)
					}
				}
			}
			if got, err := w.Syscall(unix.SYS_GETPID); err != nil || int(got) != tg.pid() {
				t.Errorf("getpid: %d, %v", got, err)
			}
			return nil
		})
		worst = max(worst, pause.Total)
	}
	for _, pid := range found {
		untraced(t, pid)
	}
	t.Logf("longest pause %v", worst)
	if res := tg.finish(); res["bad"] != 0 || res["still"] != 0 {
		t.Errorf("target: %v", res)
	}
}

// TestOrdinaryProcessesHaveNoPeers: neither children of fork nor threads are any.
func TestOrdinaryProcessesHaveNoPeers(t *testing.T) {
	tg := start(t, compile(t, stateSource), "both")
	p := open(t, tg.pid())
	begin := time.Now()
	if found := raw.PeersOf(tg.pid()); len(found) != 0 {
		t.Errorf("peers %v", found)
	}
	t.Logf("looking for peers took %v", time.Since(begin))
	stop(t, p, func(w *World) error {
		if w.Peers() != 0 {
			t.Errorf("%d peers", w.Peers())
		}
		return nil
	})
	tg.finish()
}
