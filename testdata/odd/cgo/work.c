#include <stdint.h>
#include <time.h>
#include "_cgo_export.h"

static uint64_t now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

__attribute__((noinline)) uint64_t c_small(uint64_t a, uint64_t b) { return (a ^ (a >> 7)) * 5 + b; }

uint64_t c_waited; /* ns in c_wait, all threads together */

__attribute__((noinline)) void c_wait(int us)
{
	struct timespec ts = {0, us * 1000l};
	uint64_t begin = now();
	nanosleep(&ts, 0);
	__atomic_fetch_add(&c_waited, now() - begin, __ATOMIC_RELAXED);
}

__attribute__((noinline)) uint64_t c_spin(int us)
{
	uint64_t n = 0, end = now() + (uint64_t)us * 1000;
	while (now() < end)
		n = c_small(n, 1);
	return n;
}

__attribute__((noinline)) void c_callback(int us)
{
	goBack(us);
	c_small(1, 2);
}
