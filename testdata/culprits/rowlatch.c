// Cause: five server processes want the same row; those that do not have it wait in lock_row(), by a latch that is epoll and an
// eventfd, for the one that has it, which computes in apply_trigger().
// Right: ExcessiveSyncWaitingTime|ExcessiveIOBlockingTime at lock_row()
// Right: CPUbound at apply_trigger() and lock_row()
// Processes: tree
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BACKENDS = 5 };

struct row {
	int holder; /* 0, or 1 + the number of the process that has it */
	unsigned waiters; /* a bit for each process */
	uint64_t balance;
};

static struct row *row;
static int latch[BACKENDS];

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int try_row(int me)
{
	int nobody = 0;
	return __atomic_compare_exchange_n(&row->holder, &nobody, me + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

__attribute__((noinline)) void wait_latch(int poller, int me)
{
	struct epoll_event event;
	uint64_t count;
	if (epoll_wait(poller, &event, 1, -1) == 1 && read(latch[me], &count, sizeof count) < 0)
		return;
}

__attribute__((noinline)) void lock_row(int poller, int me)
{
	while (!try_row(me)) {
		__atomic_fetch_or(&row->waiters, 1u << me, __ATOMIC_SEQ_CST);
		if (try_row(me))
			break;
		wait_latch(poller, me);
	}
	__atomic_fetch_and(&row->waiters, ~(1u << me), __ATOMIC_SEQ_CST);
}

__attribute__((noinline)) void unlock_row(int me)
{
	__atomic_store_n(&row->holder, 0, __ATOMIC_SEQ_CST);
	unsigned waiters = __atomic_load_n(&row->waiters, __ATOMIC_SEQ_CST);
	for (int i = 1; i < BACKENDS; i++) {
		int next = (me + i) % BACKENDS;
		if (waiters & 1u << next) {
			uint64_t one = 1;
			if (write(latch[next], &one, sizeof one) < 0)
				fail("latch");
			return;
		}
	}
}

static uint64_t mix(uint64_t h, int rounds)
{
	for (int i = 0; i < rounds; i++)
		h = (h ^ (h >> 11)) * 1099511628211u;
	return h;
}

__attribute__((noinline)) uint64_t parse_statement(uint64_t n)
{
	return mix(n, 100000);
}

__attribute__((noinline)) void apply_trigger(uint64_t amount)
{
	row->balance = mix(row->balance + amount, 2000000);
}

__attribute__((noinline)) void run_transaction(int poller, int me, uint64_t n)
{
	uint64_t amount = parse_statement(n);
	lock_row(poller, me);
	apply_trigger(amount);
	unlock_row(me);
}

static void serve(int me)
{
	char name[16];
	snprintf(name, sizeof name, "backend-%d", me);
	prctl(PR_SET_NAME, name);
	int poller = epoll_create1(0);
	struct epoll_event event = {.events = EPOLLIN};
	if (poller < 0 || epoll_ctl(poller, EPOLL_CTL_ADD, latch[me], &event))
		fail("epoll");
	for (uint64_t n = 1;; n++)
		run_transaction(poller, me, n);
}

int main(void)
{
	row = mmap(NULL, sizeof *row, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (row == MAP_FAILED)
		fail("mmap");
	for (int i = 0; i < BACKENDS; i++)
		if ((latch[i] = eventfd(0, EFD_NONBLOCK)) < 0)
			fail("eventfd");
	for (int i = 0; i < BACKENDS; i++) {
		pid_t child = fork();
		if (child < 0)
			fail("fork");
		if (child == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			serve(i);
		}
	}
	puts("ready");
	fflush(stdout);
	while (wait(NULL) > 0)
		;
	return 0;
}
