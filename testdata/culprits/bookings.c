// Cause: five threads write into one file of bookings. Each takes the lock of the file (fcntl, F_OFD_SETLKW) by a descriptor of its
// own in take_ledger(), and keeps it while it computes in balance_books(), so that the others wait.
// Right: ExcessiveSyncWaitingTime at lock ledger
// Right: ExcessiveSyncWaitingTime at take_ledger()
// Never: parse_booking()
// Args: DIR
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLERKS = 5 };

static char ledger[4096];
static volatile uint64_t sum;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t mix(uint64_t h, int rounds)
{
	for (int i = 0; i < rounds; i++)
		h = (h ^ (h >> 11)) * 1099511628211u;
	return h;
}

__attribute__((noinline)) void take_ledger(int fd)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	if (fcntl(fd, F_OFD_SETLKW, &whole))
		fail(ledger);
}

__attribute__((noinline)) void give_ledger(int fd)
{
	struct flock whole = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
	if (fcntl(fd, F_OFD_SETLK, &whole))
		fail(ledger);
}

__attribute__((noinline)) uint64_t parse_booking(uint64_t n)
{
	return mix(n, 100000);
}

__attribute__((noinline)) void balance_books(int fd, uint64_t n)
{
	sum = mix(sum + n, 4000000);
	uint64_t total = sum;
	if (pwrite(fd, &total, sizeof total, 0) < 0)
		fail(ledger);
}

static void *clerk(void *arg)
{
	int fd = open(ledger, O_RDWR | O_CREAT, 0600);
	if (fd < 0)
		fail(ledger);
	for (uint64_t n = (uint64_t)(uintptr_t)arg;;) {
		n = parse_booking(n);
		take_ledger(fd);
		balance_books(fd, n);
		give_ledger(fd);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	snprintf(ledger, sizeof ledger, "%s/ledger", argc > 1 ? argv[1] : ".");
	pthread_t t[CLERKS];
	for (uintptr_t i = 0; i < CLERKS; i++)
		pthread_create(&t[i], NULL, clerk, (void *)(i + 1));
	usleep(200000);
	puts("ready");
	fflush(stdout);
	pthread_join(t[0], NULL);
	return 0;
}
