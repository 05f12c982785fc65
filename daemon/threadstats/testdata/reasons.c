/* reasons: one thread waits 100 ms for each thing that there is to wait for, on the line "go", and says how long it took. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void nap(void)
{
	struct timespec ts = {0, 100000000};
	nanosleep(&ts, NULL);
}

static int fds[2];
static void *write_later(void *arg)
{
	uint64_t one = 1;
	(void)arg;
	nap();
	if (write(fds[1], &one, sizeof one) < 0)
		_exit(9);
	return NULL;
}

static void wait_read(void)
{
	uint64_t v;
	pthread_t t;
	pthread_create(&t, NULL, write_later, NULL);
	if (read(fds[0], &v, sizeof v) < 0)
		_exit(9);
	pthread_detach(t);
}

static void in_futex(void)
{
	int word = 0;
	struct timespec ts = {0, 100000000};
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &ts, NULL, 0);
}

static char lock_path[] = "/tmp/culprit-reasons-XXXXXX";
static void *unlock_later(void *arg)
{
	nap();
	flock((int)(intptr_t)arg, LOCK_UN);
	return NULL;
}

static void in_file(void)
{
	int mine = mkstemp(lock_path), other = open(lock_path, O_RDWR);
	unlink(lock_path);
	flock(other, LOCK_EX);
	pthread_t t;
	pthread_create(&t, NULL, unlock_later, (void *)(intptr_t)other);
	flock(mine, LOCK_EX);
	pthread_detach(t);
	close(mine);
}

static void in_socket(void)
{
	socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
	wait_read();
}

static void in_pipe(void)
{
	if (pipe(fds) == 0)
		wait_read();
}

static void in_poll(void) { poll(NULL, 0, 100); }

static void in_epoll(void)
{
	struct epoll_event e;
	int fd = epoll_create1(0);
	epoll_wait(fd, &e, 1, 100);
	close(fd);
}

static void in_select(void)
{
	struct timeval tv = {0, 100000};
	select(0, NULL, NULL, NULL, &tv);
}

static void in_event(void)
{
	fds[0] = fds[1] = eventfd(0, 0);
	wait_read();
}

static void in_child(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		nap();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void in_signal(void)
{
	sigset_t set;
	struct timespec ts = {0, 100000000};
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigtimedwait(&set, NULL, &ts);
}

static int uffd;
static void *serve_fault(void *arg)
{
	struct uffd_msg m;
	(void)arg;
	if (read(uffd, &m, sizeof m) != sizeof m)
		_exit(9);
	nap();
	static char page[4096];
	struct uffdio_copy c = {.dst = m.arg.pagefault.address & ~4095ull, .src = (uintptr_t)page, .len = 4096};
	ioctl(uffd, UFFDIO_COPY, &c);
	return NULL;
}

static void in_fault(void)
{
	volatile char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register r = {.range = {(uintptr_t)p, 4096}, .mode = UFFDIO_REGISTER_MODE_MISSING};
	pthread_t t;
	ioctl(uffd, UFFDIO_REGISTER, &r);
	pthread_create(&t, NULL, serve_fault, NULL);
	(void)p[0];
	pthread_detach(t);
}

static struct {
	const char *name;
	void (*wait)(void);
} steps[] = {{"blocked_futex", in_futex}, {"blocked_file", in_file}, {"blocked_socket", in_socket}, {"blocked_pipe", in_pipe},
	{"blocked_poll", in_poll}, {"blocked_poll", in_epoll}, {"blocked_poll", in_select}, {"blocked_sleep", nap},
	{"blocked_other", in_event}, {"blocked_other", in_child}, {"blocked_other", in_signal}, {"blocked_fault", in_fault}};

int main(void)
{
	uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = {.api = UFFD_API};
	if (uffd >= 0)
		ioctl(uffd, UFFDIO_API, &api);
	char line[16];
	printf("READY %llu %zu\n", (unsigned long long)pthread_self(), sizeof steps / sizeof *steps);
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		return 1;
	for (unsigned i = 0; i < sizeof steps / sizeof *steps; i++) {
		printf("NEXT %s\n", uffd < 0 && steps[i].wait == in_fault ? "none" : steps[i].name);
		fflush(stdout);
		if (!fgets(line, sizeof line, stdin))
			return 1;
		int64_t began = now();
		if (uffd >= 0 || steps[i].wait != in_fault)
			steps[i].wait();
		printf("WAITED %lld\n", (long long)(now() - began));
		fflush(stdout);
		if (!fgets(line, sizeof line, stdin))
			return 1;
	}
	return 0;
}
