/* A program whose threads have forbidden themselves what code that somebody puts into them may do.
 * forbids WHAT: nothing
 *   tsc        two of three threads may not read the time-stamp counter (PR_SET_TSC): SIGSEGV
 *   tsc-late   they forbid it after 1.5 s, and run no function of the program for 2.5 s then
 *   dispatch   the system calls of two of three threads are a SIGSYS (PR_SET_SYSCALL_USER_DISPATCH), which emulates the one that they make
 *   dispatch-late  from 1.5 s on; they run no function of the program for half a second then
 *   dispatch-all   those of the only thread are, but where it talks to whoever has started it
 *   dispatch-all-late  from 1.5 s on */
#include "target.h"
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
enum { WORKERS = 2, ALLOW = 0, BLOCK = 1 };
static volatile int over, late, quiet;
static const char *what = "nothing";
static __thread volatile char selector;

static long raw(long nr, long a, long b, long c, long d, long e)
{
	long r;
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e;
	__asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
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

/* Calls from here are never dispatched: the return from the handler is one. */
__asm__(".section .text.free,\"ax\",@progbits\n"
	".globl free_begin, free_end, restorer\n"
	"free_begin:\nrestorer: mov $15, %eax\nsyscall\nnop\nnop\nfree_end: nop\nnop\n.text\n");
extern char free_begin[], free_end[], restorer[];

static void on_sys(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	selector = ALLOW;
	if (info->si_syscall != SYS_getppid)
		target_bad("call %d is none of this program's", info->si_syscall);
	selector = BLOCK;
}

static void dispatch(void)
{
	struct {
		void (*handler)(int, siginfo_t *, void *);
		unsigned long flags;
		void *restorer;
		uint64_t mask;
	} sa = {on_sys, SA_SIGINFO | 0x04000000 | SA_NODEFER, restorer, 0};
	if (raw(SYS_rt_sigaction, SIGSYS, (long)&sa, 0, 8, 0) || prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, (long)free_begin, free_end - free_begin, &selector))
		target_bad("dispatch: %s", strerror(errno));
	selector = BLOCK;
}

/* In line, so that it does not return through a probe that reads the counter. */
static inline __attribute__((always_inline)) void forbid(void)
{
	if (strncmp(what, "tsc", 3) == 0 && prctl(PR_SET_TSC, PR_TSC_SIGSEGV))
		target_bad("PR_SET_TSC: %s", strerror(errno));
	if (strncmp(what, "dispatch", 8) == 0)
		dispatch();
}

/* rest sleeps for a moment, without the C library, which reads clocks. */
static void rest(void)
{
	struct timespec ts = {0, 300000};
	char before = selector;
	selector = ALLOW;
	raw(SYS_nanosleep, (long)&ts, 0, 0, 0, 0);
	selector = before;
}

static void *worker(void *arg)
{
	int is = !strstr(what, "late");
	if (is)
		forbid();
	uint64_t hash = work(1);
	while (!over) {
		if (!is && late) {
			forbid();
			is = 1;
			while (quiet && !over)
				rest();
			for (int i = 0; i < 1500 && !over; i++) /* until it is seen: a fifth of a second */
				rest();
		}
		if (work(1) != hash)
			target_bad("hash differs");
		if (strncmp(what, "dispatch", 8) == 0)
			raw(SYS_getppid, 0, 0, 0, 0, 0);
		rest();
	}
	selector = ALLOW;
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[WORKERS];
	target_start();
	if (argc > 1)
		what = argv[1];
	int all = strncmp(what, "dispatch-all", 12) == 0, is = 0;
	quiet = strcmp(what, "tsc-late") == 0;
	for (int i = 0; i < WORKERS && !all; i++)
		if (pthread_create(&t[i], NULL, worker, NULL))
			target_bad("pthread_create");
	uint64_t hash = work(1), begun = target_now_ns();
	while (target_running()) {
		late = target_now_ns() - begun > 1500000000;
		if (target_now_ns() - begun > 4000000000)
			quiet = 0;
		if (all && !is && (late || !strstr(what, "late"))) {
			dispatch();
			is = 1;
		}
		selector = is ? BLOCK : ALLOW;
		for (int i = 0; i < 200; i++) {
			if (work(1) != hash)
				target_bad("hash differs");
			if (is && i % 100 == 0)
				raw(SYS_getppid, 0, 0, 0, 0, 0);
		}
		selector = ALLOW;
		target_sleep_us(300);
	}
	over = 1;
	for (int i = 0; i < WORKERS && !all; i++)
		pthread_join(t[i], NULL);
	return target_finish(hash);
}
