package process

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// splitsSource has one thread that is always in a call which must not be broken into, and that somebody else ends every 20 ms.
// "datagrams": recvmmsg, which gives up behind the datagrams that have come, and has the next call fail. "ring": io_uring_enter, which gives up
// without a completion. "asked": a call whose filter asks another process, which would be asked twice. "wrong" counts what an undisturbed run never
// shows, "calls" the calls.
const splitsSource = `
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
static long calls, wrong; static int ended, pair[2];
static void every20ms(void (*f)(void)) { if (fork() == 0) { prctl(PR_SET_PDEATHSIG, SIGKILL); for (;;) { usleep(20000); f(); } } }
static int over(void) { struct pollfd in = {0, POLLIN, 0}; return poll(&in, 1, 0) != 0; }
static void one(void) { if (write(pair[1], "x", 1) != 1) _exit(1); }
static void datagrams(void)
{
	struct mmsghdr m[4]; struct iovec v[4]; char b[4][8];
	socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), every20ms(one);
	for (; !over(); calls++) {
		memset(m, 0, sizeof m);
		for (int i = 0; i < 4; i++)
			v[i].iov_base = b[i], v[i].iov_len = 8, m[i].msg_hdr.msg_iov = &v[i], m[i].msg_hdr.msg_iovlen = 1;
		wrong += recvmmsg(pair[0], m, 4, 0, NULL) != 4;
	}
}
static void ring(void)
{
	struct io_uring_params p; memset(&p, 0, sizeof p);
	int fd = syscall(SYS_io_uring_setup, 4, &p); char b[8];
	if (fd < 0) { calls = 100; return; }
	pipe(pair), every20ms(one);
	char *sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQ_RING);
	char *cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_CQ_RING);
	struct io_uring_sqe *e = mmap(NULL, p.sq_entries * sizeof *e, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, IORING_OFF_SQES);
	unsigned *tail = (unsigned *)(sq + p.sq_off.tail), *mask = (unsigned *)(sq + p.sq_off.ring_mask), *array = (unsigned *)(sq + p.sq_off.array);
	unsigned *head = (unsigned *)(cq + p.cq_off.head), *have = (unsigned *)(cq + p.cq_off.tail);
	for (; !over(); calls++) {
		unsigned at = *tail & *mask;
		memset(&e[at], 0, sizeof *e);
		e[at].opcode = IORING_OP_READ, e[at].fd = pair[0], e[at].addr = (unsigned long)b, e[at].len = 1, e[at].off = -1;
		array[at] = at, __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
		long n = syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
		int early = n != 1 || __atomic_load_n(have, __ATOMIC_ACQUIRE) == *head;
		wrong += early;
		while (__atomic_load_n(have, __ATOMIC_ACQUIRE) == *head)
			usleep(1000);
		__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	}
}
static void answer(int fd)
{
	struct seccomp_notif n; struct seccomp_notif_resp r; long asked = 0;
	for (;;) {
		memset(&n, 0, sizeof n), memset(&r, 0, sizeof r);
		if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &n))
			continue;
		asked++, usleep(20000);
		r.id = n.id, r.val = asked;
		ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &r);
	}
}
static void asked(void)
{
	struct sock_filter f[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog p = {4, f};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	int fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &p);
	if (fork() == 0) { prctl(PR_SET_PDEATHSIG, SIGKILL); answer(fd); }
	while (!over())
		wrong = syscall(SYS_getppid) - ++calls;
}
int main(int argc, char **argv)
{
	puts("ready"), fflush(stdout);
	switch (argv[1][0]) {
	case 'd': datagrams(); break;
	case 'r': ring(); break;
	default: asked();
	}
	signal(SIGCHLD, SIG_DFL);
	printf("calls %ld\nwrong %ld\n", calls, wrong);
	return 0;
}
`

// TestCallsThatSplit: but for a call that is entered in the microseconds between a look and the stop (inBetween), a thread that sleeps in a call which returns early, or asks again, where it is broken into, is not; also where it is the only one
// that can make a call for us. Then the end of its call is waited for.
func TestCallsThatSplit(t *testing.T) {
	know := knowingTransfers(t)
	for _, mode := range []string{"datagrams", "ring", "asked"} {
		t.Run(mode, func(t *testing.T) {
			tg := start(t, compile(t, splitsSource), mode)
			p := open(t, tg.pid())
			p.KnowTransfers(know)
			for i := range 30 {
				stop(t, p, func(w *World) error {
					if i%3 != 0 || mode == "asked" { // its filter has calls of ours wait as well
						return nil
					}
					_, err := w.Syscall(unix.SYS_GETPID)
					return err
				})
				time.Sleep(7 * time.Millisecond)
			}
			if res := tg.finish(); res["wrong"] > inBetween || res["calls"] < 5 {
				t.Errorf("target: %v", res)
			}
		})
	}
}
