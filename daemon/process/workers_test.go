package process

import (
	"testing"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// workersSource has four reads that wait in workers of io_uring, and a thread of the kernel that looks for what is submitted.
const workersSource = `
#include <liburing.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static volatile int done;
static void *spin(void *a) { volatile unsigned long n = 0; while (!done) n++; return a; }
int main(void) {
  struct io_uring ring; struct io_uring_params p = {.flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 60000}; int ends[2]; char b[4], c; pthread_t t;
  if (pipe(ends) || io_uring_queue_init_params(8, &ring, &p)) return 1;
  for (int i = 0; i < 4; i++) { struct io_uring_sqe *s = io_uring_get_sqe(&ring); io_uring_prep_read(s, ends[0], &b[i], 1, 0); io_uring_sqe_set_flags(s, IOSQE_ASYNC); io_uring_submit(&ring); }
  usleep(50000); pthread_create(&t, 0, spin, 0); puts("ready"); fflush(stdout);
  while (read(0, &c, 1) > 0); done = 1; pthread_join(t, 0);
  long got = 0; for (int i = 0; i < 4; i++) { struct io_uring_cqe *e; if (write(ends[1], "x", 1) != 1) return 1; if (!io_uring_wait_cqe(&ring, &e)) { got += e->res; io_uring_cqe_seen(&ring, e); } }
  printf("got %ld\n", got); return 0; }
`

// TestWorkersOfTheKernel: tasks of io_uring are listed in /proc, but they are no threads to us, and what they wait for is not disturbed.
func TestWorkersOfTheKernel(t *testing.T) {
	tg := start(t, compile(t, workersSource, "-luring"))
	p := open(t, tg.pid())
	all := must2(raw.Tasks(tg.pid()))
	if len(all) < 4 {
		t.Skipf("only %d tasks: this kernel has no workers of io_uring", len(all))
	}
	if threads := must2(p.Threads()); len(threads) != 2 {
		t.Errorf("%d threads of %d tasks, want 2", len(threads), len(all))
	}
	if info := must2(p.Info()); info.Threads != 2 {
		t.Errorf("information says %d threads, want 2", info.Threads)
	}
	for range 20 {
		pause := stop(t, p, func(w *World) error {
			_, err := w.Syscall(unix.SYS_GETPID)
			return err
		})
		if pause.Threads != 2 {
			t.Fatalf("stopped %d threads, want 2", pause.Threads)
		}
	}
	if res := tg.finish(); res["got"] != 4 {
		t.Errorf("target: %v", res)
	}
}
