package process

import (
	"testing"
	"time"

	"culprit/internal/require"
)

// supervisedSource has a thread one of whose calls is answered by another one (SECCOMP_RET_USER_NOTIF), and one that connects to a listener without
// room, for 60 ms each time.
const supervisedSource = `
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>
static volatile int done, listener = -1; static long calls, wrong, connects, badly;
static void *asks(void *a) { struct sock_filter f[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog p = {4, f}; listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &p);
  while (!done) { calls++; if (syscall(SYS_getppid) != 4711) wrong++; } return a; }
static void *answers(void *a) { struct seccomp_notif q; while (listener < 0) usleep(1000);
  for (;;) { memset(&q, 0, sizeof q); if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &q) < 0) continue; usleep(30000); struct seccomp_notif_resp r = {.id = q.id, .val = 4711}; ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &r); } return a; }
static void *connecter(void *a) { struct sockaddr_un at = {AF_UNIX}; socklen_t n = sizeof(sa_family_t); struct timeval t = {0, 60000};
  int l = socket(AF_UNIX, SOCK_STREAM, 0); bind(l, (void *)&at, n); n = sizeof at; getsockname(l, (void *)&at, &n); listen(l, 0); connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&at, n);
  while (!done) { int s = socket(AF_UNIX, SOCK_STREAM, 0); setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t); connects++; if (connect(s, (void *)&at, n) == 0 || errno != EAGAIN) badly++; close(s); } return a; }
int main(void) { pthread_t t[3]; char c; prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  pthread_create(&t[0], 0, asks, 0); pthread_create(&t[1], 0, answers, 0); pthread_create(&t[2], 0, connecter, 0);
  while (listener < 0) usleep(1000); puts("ready"); fflush(stdout); while (read(0, &c, 1) > 0);
  done = 1; pthread_join(t[0], 0); pthread_join(t[2], 0); printf("calls %ld\nwrong %ld\nconnects %ld\nbadly %ld\n", calls, wrong, connects, badly); fflush(stdout); _exit(0); }
`

// TestSupervisedCalls: a call that a supervisor answers, and a connect whose time is over, give what they give without us.
func TestSupervisedCalls(t *testing.T) {
	t.Parallel()
	require.Root(t)
	tg := start(t, compile(t, supervisedSource))
	p := open(t, tg.pid())
	for begin := time.Now(); time.Since(begin) < 3*time.Second; time.Sleep(70 * time.Millisecond) {
		stop(t, p, nothing)
	}
	res := tg.finish()
	t.Log(res)
	if res["wrong"] != 0 || res["badly"] != 0 || res["calls"] == 0 || res["connects"] == 0 {
		t.Errorf("target: %v", res)
	}
}
