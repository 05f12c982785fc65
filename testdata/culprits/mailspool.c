// Cause: four processes deliver into one mailbox. Each takes the lock of its file (flock) in lock_mailbox() and keeps it while
// it waits for the filter of messages, so that the others wait there for over two thirds of their time.
// Right: ExcessiveSyncWaitingTime at lock mailbox
// Right: ExcessiveSyncWaitingTime at lock_mailbox()
// Never: read_message()
// Never: unlock_mailbox()
// Processes: tree
// Args: DIR
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DELIVERERS = 4 };

static char mailbox[4096];

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

__attribute__((noinline)) int lock_mailbox(void)
{
	int fd = open(mailbox, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || flock(fd, LOCK_EX))
		fail(mailbox);
	return fd;
}

__attribute__((noinline)) void unlock_mailbox(int fd)
{
	close(fd); /* which lets go of the lock */
}

__attribute__((noinline)) uint64_t read_message(uint64_t h)
{
	for (int i = 0; i < 200000; i++)
		h = (h ^ (h >> 11)) * 1099511628211u;
	return h;
}

__attribute__((noinline)) void ask_filter(void)
{
	usleep(20000);
}

__attribute__((noinline)) void deliver(uint64_t message)
{
	int fd = lock_mailbox();
	ask_filter();
	if (pwrite(fd, &message, sizeof message, 0) < 0)
		fail(mailbox);
	unlock_mailbox(fd);
}

static void serve(int me)
{
	char name[16];
	snprintf(name, sizeof name, "deliver-%d", me);
	prctl(PR_SET_NAME, name);
	for (uint64_t n = (uint64_t)me;;)
		deliver(n = read_message(n));
}

int main(int argc, char **argv)
{
	snprintf(mailbox, sizeof mailbox, "%s/mailbox", argc > 1 ? argv[1] : ".");
	for (int i = 0; i < DELIVERERS; i++) {
		pid_t child = fork();
		if (child < 0)
			fail("fork");
		if (child == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			serve(i);
		}
	}
	usleep(300000);
	puts("ready");
	fflush(stdout);
	while (wait(NULL) > 0)
		;
	return 0;
}
