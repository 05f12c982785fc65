/* What looks at stacks or leaves functions by other ways than their return: backtrace(), longjmp, siglongjmp out of a handler on
 * an alternate stack, pthread_cancel with cleanup handlers, deferred and at once; conditional jumps into other functions; errno.
 * Each thing must come out as it did the first time, when nobody had attached.
 * Line "sleep": the main thread waits at the end of a chain of calls, for a debugger; it says ASLEEP, and AWAKE after the line
 * "wake". */
#include "target.h"
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>

enum { DEEP = 12, FRAMES = 40 };
static uint64_t traces, jumps, signal_jumps, cancels, cleanups, flag_checks;
static volatile int on = 1, sleep_now, both_pushed;
static __thread void *frames[FRAMES];
static __thread int depth;

NOINLINE int look(int n)
{
	if (n > 0) {
		int r = look(n - 1);
		__asm__ volatile("" : "+r"(r));
		return r;
	}
	depth = backtrace(frames, FRAMES);
	return depth;
}

NOINLINE int look_from_here(void)
{
	int r = look(DEEP);
	__asm__ volatile("" : "+r"(r));
	return r;
}

static void *tracer(void *arg)
{
	void *first[FRAMES];
	int first_depth = 0;
	while (on) {
		look_from_here(); /* the compiler may call it from two places: the frames behind it are left out */
		if (!first_depth) {
			first_depth = depth;
			memcpy(first, frames, sizeof first);
			if (depth < DEEP + 3)
				target_bad("backtrace has %d frames", depth);
		}
		if (depth != first_depth || memcmp(first, frames, (DEEP + 2) * sizeof *first) != 0)
			target_bad("backtrace has %d frames, had %d, or others", depth, first_depth);
		traces++;
	}
	return arg;
}

static __thread sigjmp_buf back;

NOINLINE int dive(int n)
{
	if (n == 0)
		siglongjmp(back, 3);
	int r = dive(n - 1);
	__asm__ volatile("" : "+r"(r));
	return r + 1;
}

NOINLINE void on_usr1(int sig)
{
	char copy[64], from[64] = "what a handler copies";
	memcpy(copy, from, (size_t)(sig + 20));
	free(malloc((size_t)sig + 100)); /* sent by this thread to itself, outside of malloc */
	if (copy[1] != 'h')
		target_bad("memcpy in a handler");
	dive(3);
}

NOINLINE void raise_it(void)
{
	raise(SIGUSR1);
	target_bad("the handler came back");
}

static void *jumper(void *arg)
{
	stack_t alternate = {.ss_sp = malloc(64 << 10), .ss_size = 64 << 10};
	sigaltstack(&alternate, NULL);
	while (on) {
		errno = 77;
		if (sigsetjmp(back, 1) == 0)
			dive(5);
		jumps++;
		if (sigsetjmp(back, 1) == 0)
			raise_it();
		signal_jumps++;
		sigset_t now;
		pthread_sigmask(SIG_SETMASK, NULL, &now);
		if (sigismember(&now, SIGUSR1) || errno != 77)
			target_bad("after a jump out of a handler: errno %d", errno);
	}
	alternate.ss_flags = SS_DISABLE;
	sigaltstack(&alternate, NULL);
	free(alternate.ss_sp);
	return arg;
}

static void clean_up(void *arg)
{
	__atomic_fetch_add((uint64_t *)arg, 1, __ATOMIC_RELAXED);
}

NOINLINE uint64_t busy(uint64_t x)
{
	return target_mix(x, 5);
}

NOINLINE void wait_for_cancel(int at_once)
{
	uint64_t x = 1;
	pthread_cleanup_push(clean_up, &cleanups);
	both_pushed = 1;
	for (;;) {
		x = busy(x);
		if (!at_once)
			target_sleep_us(20);
	}
	pthread_cleanup_pop(0);
}

static void *cancelled(void *arg)
{
	pthread_cleanup_push(clean_up, &cleanups);
	pthread_setcanceltype(arg ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED, NULL);
	wait_for_cancel(arg != NULL);
	pthread_cleanup_pop(0);
	return NULL;
}

static void *canceller(void *arg)
{
	for (int i = 0; on; i++) {
		pthread_t t;
		void *end;
		both_pushed = 0;
		if (pthread_create(&t, NULL, cancelled, i % 2 ? arg : NULL) != 0)
			target_bad("pthread_create");
		while (!both_pushed)
			target_sleep_us(20);
		target_sleep_us(i % 7 * 30);
		pthread_cancel(t);
		pthread_join(t, &end);
		if (end != PTHREAD_CANCELED)
			target_bad("a cancelled thread returned %p", end);
		cancels++;
	}
	return NULL;
}

/* Functions that are left by conditional jumps into others: the one place at which flags live where a probe may be. */
__asm__(".text\n"
	".macro tail name, test, jump\n"
	" .globl tail_\\name\n .type tail_\\name, @function\n .p2align 4\ntail_\\name:\n"
	" lea 1(%rdi,%rsi), %rdx\n \\test\n \\jump tail_taken\n lea 7(%rdx), %rax\n lea 1(%rax), %rax\n ret\n"
	" .size tail_\\name, . - tail_\\name\n"
	".endm\n"
	"tail carry, \"add %rsi, %rdi\", jc\n"
	"tail overflow, \"add %rsi, %rdi\", jo\n"
	"tail sign, \"add %rsi, %rdi\", js\n"
	"tail parity, \"add %rsi, %rdi\", jp\n"
	"tail zero, \"sub %rsi, %rdi\", je\n"
	"tail above, \"cmp %rsi, %rdi\", ja\n"
	"tail less, \"cmp %rsi, %rdi\", jl\n"
	" .globl tail_taken\n .type tail_taken, @function\n .p2align 4\ntail_taken:\n"
	" lea 3(%rdx), %rax\n lea 2(%rax), %rax\n lea 1(%rax), %rax\n ret\n .size tail_taken, . - tail_taken\n");
typedef uint64_t tail(uint64_t, uint64_t);
tail tail_carry, tail_overflow, tail_sign, tail_parity, tail_zero, tail_above, tail_less;

NOINLINE void check_tail(tail *f, uint64_t a, uint64_t b, int taken)
{
	errno = (int)(a & 0xff) + 1;
	uint64_t got = f(a, b), flags;
	__asm__ volatile("pushfq\n pop %0" : "=r"(flags));
	if (got != a + b + 1 + (taken ? 6 : 8))
		target_bad("a conditional tail call of %llx, %llx went the wrong way", (unsigned long long)a, (unsigned long long)b);
	if (flags & 0x40400)
		target_bad("flags %llx", (unsigned long long)flags);
	if (errno != (int)(a & 0xff) + 1)
		target_bad("errno became %d", errno);
	flag_checks++;
}

NOINLINE void check_tails(uint64_t n)
{
	uint64_t a = target_mix(n, 1), b = n % 4 ? target_mix(n, 2) : a, sum = a + b;
	check_tail(tail_carry, a, b, sum < a);
	check_tail(tail_overflow, a, b, ((a ^ sum) & (b ^ sum)) >> 63);
	check_tail(tail_sign, a, b, sum >> 63);
	check_tail(tail_parity, a, b, !__builtin_parity((unsigned)(sum & 0xff)));
	check_tail(tail_zero, a, b, a == b);
	check_tail(tail_above, a, b, a > b);
	check_tail(tail_less, a, b, (int64_t)a < (int64_t)b);
}

NOINLINE int sleep_deep(int n)
{
	if (n > 0) {
		int r = sleep_deep(n - 1);
		__asm__ volatile("" : "+r"(r));
		return r;
	}
	printf("ASLEEP\n");
	while (sleep_now && !target_stopping)
		target_poll(20);
	printf("AWAKE\n");
	return 0;
}

NOINLINE int sleep_outermost(void)
{
	int r = sleep_deep(3);
	__asm__ volatile("" : "+r"(r));
	return r;
}

static void command(const char *line)
{
	sleep_now = strcmp(line, "sleep") == 0;
}

int main(void)
{
	pthread_t t[3];
	static int at_once;
	target_start();
	target_command = command;
	struct sigaction sa = {.sa_handler = on_usr1, .sa_flags = SA_ONSTACK};
	sigaction(SIGUSR1, &sa, NULL);
	pthread_create(&t[0], NULL, tracer, NULL);
	pthread_create(&t[1], NULL, jumper, NULL);
	pthread_create(&t[2], NULL, canceller, &at_once);
	for (uint64_t n = 0; target_running(); n++) {
		check_tails(n);
		if (n % 64 == 0)
			target_sleep_us(1000);
		if (sleep_now)
			sleep_outermost();
	}
	on = 0;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	if (cleanups != 2 * cancels)
		target_bad("%llu cleanup handlers of %llu cancelled threads", (unsigned long long)cleanups, (unsigned long long)cancels);
	target_count("backtraces", traces);
	target_count("longjmps", jumps);
	target_count("signal_jumps", signal_jumps);
	target_count("cancelled", cancels);
	target_count("flag_checks", flag_checks);
	return target_finish(target_mix(1, 1));
}
