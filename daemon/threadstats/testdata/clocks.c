/* clocks THREADS MS: threads work and sleep, each reads its own row as a trampoline would, and says what processor time it
 * took by the row and by its clock. The rows' descriptor comes through the socket that is descriptor 3. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ROW = 256, PROBES = 64, SINCE = 16, OFF_CPU = 48, STOLEN = OFF_CPU + 25 * 8 };
static const volatile char *rows;
static uint32_t slots;
static int64_t length_ns;
static pthread_barrier_t go;

struct reading {
	int64_t by_row, by_clock, stolen;
};

struct report {
	int tid, found;
	struct reading took;
	pthread_t thread;
};

static int64_t clock_ns(clockid_t id)
{
	struct timespec ts;
	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static const volatile char *find(void)
{
	uint64_t tp = (uint64_t)pthread_self();
	uint32_t first = (uint32_t)tp * 0x9E3779B1u >> (32 - __builtin_ctz(slots));
	for (uint32_t i = 0; i < PROBES; i++) {
		const volatile char *row = rows + (uint64_t)((first + i) & (slots - 1)) * ROW;
		uint64_t key = *(const volatile uint64_t *)row;
		if (key == tp)
			return row;
		if (key == 0)
			return NULL;
	}
	return NULL;
}

static int64_t word(const volatile char *row, int off) { return *(const volatile int64_t *)(row + off); }

/* read_both takes both clocks with no switch between them. What a hypervisor takes away is known at the next switch, so the
 * thread sleeps before and after, and tries again if something was taken away around the reading. */
static void read_both(const volatile char *row, struct reading *r)
{
	struct timespec nap = {0, 100000};
	int64_t off, now;
	for (int tries = 0; tries < 100; tries++) {
		nanosleep(&nap, NULL);
		do {
			off = word(row, OFF_CPU);
			r->stolen = word(row, STOLEN);
			r->by_clock = clock_ns(CLOCK_THREAD_CPUTIME_ID);
			now = clock_ns(CLOCK_MONOTONIC);
		} while (off != word(row, OFF_CPU));
		r->by_row = now - off;
		int unseen = word(row, SINCE) != 0; /* it runs, and no trace point has told: the wait before is not in the sum yet */
		nanosleep(&nap, NULL);
		if (!unseen && word(row, STOLEN) - r->stolen < 20000)
			return;
	}
}

static void work(unsigned *seed)
{
	int64_t until = clock_ns(CLOCK_MONOTONIC) + 100000 + rand_r(seed) % 6000000;
	while (clock_ns(CLOCK_MONOTONIC) < until)
		;
	struct timespec nap = {0, 20000 + rand_r(seed) % 1500000};
	if (rand_r(seed) % 3)
		nanosleep(&nap, NULL);
}

static void *run(void *arg)
{
	struct report *r = arg;
	unsigned seed = r->tid = (int)syscall(SYS_gettid);
	pthread_barrier_wait(&go);
	struct timespec nap = {0, 1000000};
	nanosleep(&nap, NULL);
	const volatile char *row = find();
	r->found = row != NULL;
	if (!row)
		return NULL;
	struct reading first, last;
	read_both(row, &first);
	int64_t until = clock_ns(CLOCK_MONOTONIC) + length_ns;
	while (clock_ns(CLOCK_MONOTONIC) < until)
		work(&seed);
	read_both(row, &last);
	r->took.by_row = last.by_row - first.by_row;
	r->took.by_clock = last.by_clock - first.by_clock;
	r->took.stolen = last.stolen - first.stolen;
	return NULL;
}

static int receive(void)
{
	char byte, space[CMSG_SPACE(sizeof(int))];
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
	int fd = -1;
	if (recvmsg(3, &m, 0) == 1 && CMSG_FIRSTHDR(&m))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
	return fd;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	length_ns = (argc > 2 ? atoll(argv[2]) : 1000) * 1000000;
	struct report *all = calloc(n, sizeof *all);
	pthread_barrier_init(&go, NULL, n + 1);
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (int i = 0; i < n; i++)
		if (pthread_create(&all[i].thread, &small, run, &all[i]))
			return 2;
	printf("READY %d\n", getpid());
	fflush(stdout);
	unsigned long long size;
	if (scanf("go %u %llu", &slots, &size) != 2)
		return 3;
	int fd = receive();
	rows = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (rows == MAP_FAILED)
		return 4;
	close(fd);
	printf("WRITABLE %d\n", mprotect((void *)rows, size, PROT_READ | PROT_WRITE) == 0);
	fflush(stdout);
	pthread_barrier_wait(&go);
	for (int i = 0; i < n; i++)
		pthread_join(all[i].thread, NULL);
	for (int i = 0; i < n; i++)
		printf("THREAD %d %d %lld %lld %lld\n", all[i].tid, all[i].found, (long long)all[i].took.stolen, (long long)all[i].took.by_row, (long long)all[i].took.by_clock);
	printf("DONE\n");
	fflush(stdout);
	getchar();
	while (getchar() != EOF)
		;
	return 0;
}
