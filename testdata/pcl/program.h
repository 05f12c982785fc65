/* What the programs of these tests share: they say READY, wait for a line, work, print what they know, and stay until another
 * line comes. They read and write by syscall(2), so that their talk is no input or output for the metrics. */
#ifndef PROGRAM_H
#define PROGRAM_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define NOINLINE __attribute__((noinline, noclone))
#define UNUSED __attribute__((unused))

UNUSED static void say(const char *format, ...)
{
	char text[256];
	va_list ap;
	va_start(ap, format);
	int n = vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	if (syscall(SYS_write, 1, text, (size_t)n) != n)
		_exit(1);
}

/* wait_line waits for a line, in poll, as one that has nothing to do; the end of the input ends the program. */
UNUSED static void wait_line(void)
{
	struct pollfd in = {0, POLLIN, 0};
	char c = 0;
	while (poll(&in, 1, -1) < 0 && errno == EINTR)
		;
	while (c != '\n')
		if (syscall(SYS_read, 0, &c, (size_t)1) != 1)
			_exit(0);
}

UNUSED static void begin(void)
{
	say("READY\n");
	wait_line();
}

UNUSED static void done(void)
{
	say("DONE\n");
	wait_line();
}

/* count says what the test calls $name. */
UNUSED static void count(const char *name, double value) { say("COUNT %s %.9f\n", name, value); }

UNUSED static double seconds(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* cpu_here is the processor time of this thread, asked for in the function that it stands in: no call. The kernel accounts for a thread
 * that asks. In a callee it would move what a hypervisor took from the function until then out of the function. */
UNUSED static inline __attribute__((always_inline)) double cpu_here(void)
{
	struct timespec t;
	long n = SYS_clock_gettime;
	__asm__ volatile("syscall" : "+a"(n) : "D"((long)CLOCK_THREAD_CPUTIME_ID), "S"(&t) : "rcx", "r11", "memory");
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

UNUSED static double now(void) { return seconds(CLOCK_MONOTONIC); }

UNUSED NOINLINE static void sleep_ms(double ms)
{
	struct timespec t = {(time_t)(ms / 1000), (long)((uint64_t)(ms * 1e6) % 1000000000u)};
	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		;
}

/* spin computes n rounds without a call, in the function that it stands in. */
UNUSED static inline __attribute__((always_inline)) uint64_t spin(uint64_t n, uint64_t x)
{
	for (uint64_t i = 0; i < n; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}

/* ready_time_of is how long a thread of this process was ready, but had no processor. */
UNUSED static double ready_time_of(int tid)
{
	unsigned long long run, wait;
	char text[128];
	snprintf(text, sizeof text, "/proc/self/task/%d/schedstat", tid);
	int fd = open(text, O_RDONLY | O_CLOEXEC);
	long n = syscall(SYS_read, fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0)
		_exit(1);
	text[n] = 0;
	if (sscanf(text, "%llu %llu", &run, &wait) != 2)
		_exit(1);
	return (double)wait / 1e9;
}

UNUSED static double ready_time(void) { return ready_time_of((int)gettid()); }

/* room is straight code, so that a jump to a probe finds room beside a call. */
#define room() __asm__ volatile(".fill 4, 4, 0x00401f0f" ::: "memory") /* nopl 0(%rax) */
#endif
