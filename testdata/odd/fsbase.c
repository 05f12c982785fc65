/* A thread that gives up its thread pointer: from one second on it runs with fs_base 0, first in a loop without calls and then in functions
 * again, and takes the pointer back at the end. Compiled without stack protectors. */
#include "target.h"
#include <asm/prctl.h>
#include <pthread.h>
#include <sys/syscall.h>

static volatile int over;
static volatile uint64_t rounds;

static long raw(long nr, long a, unsigned long b)
{
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(a), "S"(b) : "rcx", "r11", "memory");
	return r;
}

NOINLINE uint64_t work(uint64_t seed)
{
	uint64_t h = seed;
	__asm__ volatile("" : "+r"(h)); /* so that it is called each time */
	for (int i = 0; i < 2000; i++)
		h = target_mix(h, (uint64_t)i);
	return h;
}

static inline __attribute__((always_inline)) uint64_t cycles(void)
{
	unsigned lo, hi;
	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

static void *keyless(void *arg)
{
	unsigned long fs;
	uint64_t hash = work(1);
	for (int i = 0; i < 100; i++) {
		if (work(1) != hash)
			target_bad("hash differs");
		target_sleep_us(10000);
	}
	uint64_t second = target_now_ns(), c = cycles();
	target_sleep_us(100000);
	second = (cycles() - c) * 1000000000 / (target_now_ns() - second);
	if (raw(SYS_arch_prctl, ARCH_GET_FS, (unsigned long)&fs) || raw(SYS_arch_prctl, ARCH_SET_FS, 0))
		target_bad("arch_prctl");
	for (uint64_t begun = cycles(), now = begun; now - begun < 4 * second && !over; now = cycles())
		__asm__ volatile("pause");
	while (!over)
		if (work(1) == hash)
			rounds++;
	raw(SYS_arch_prctl, ARCH_SET_FS, fs);
	return arg;
}

int main(void)
{
	pthread_t t;
	target_start();
	if (pthread_create(&t, NULL, keyless, NULL))
		target_bad("pthread_create");
	uint64_t hash = work(1);
	while (target_running()) {
		for (int i = 0; i < 20; i++)
			if (work(1) != hash)
				target_bad("hash differs");
		target_sleep_us(200);
	}
	over = 1;
	pthread_join(t, NULL);
	return target_finish(hash);
}
