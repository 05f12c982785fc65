/* Reads memory that may not be there, and lives: a handler goes by where it faulted. Four ways of knowing where that was, and a
 * division, are all tried again and again; each has its own function, so that all of them can be measured.
 * Argument "late": the handler is there only once the program was told to go. */
#include "target.h"
#include <sys/mman.h>
#include <ucontext.h>

#define FAILED (-4711)

/* By label, as a JVM's SafeFetch: the load is the first instruction. */
extern char by_label_load[], by_label_else[];
NOINLINE long by_label(const long *p, long otherwise);
asm(".text\n.p2align 4\n.globl by_label\n.type by_label,@function\nby_label:\n"
    ".local by_label_load\nby_label_load: mov (%rdi),%rax\n\tret\n"
    ".local by_label_else\nby_label_else: mov %rsi,%rax\n\tret\n.size by_label,.-by_label\n");

/* By the bounds of a function. */
NOINLINE static long by_range(const long *p)
{
	return *p;
}
NOINLINE static long by_range_end(long otherwise)
{
	return otherwise;
}

/* By a table of exceptions, as the kernel's: distances from each word to the instruction, and to where to go on. */
NOINLINE static long by_table(const long *p)
{
	long v;
	asm volatile("1: mov (%1),%0\n2:\n"
		     ".pushsection except_table,\"a\"\n.balign 4\n.long 1b-.\n.long 3f-.\n.popsection\n"
		     ".subsection 1\n3: mov %2,%0\n\tjmp 2b\n.previous"
		     : "=r"(v)
		     : "r"(p), "i"(FAILED));
	return v;
}
extern const int32_t __start_except_table[], __stop_except_table[];

/* By the section that the code is in. */
NOINLINE __attribute__((section("may_fault"))) static long by_section(const long *p)
{
	return *p;
}
extern char __start_may_fault[], __stop_may_fault[];

/* A division by what may be 0. */
NOINLINE static long by_division(long a, long b)
{
	return a / b;
}
NOINLINE static long by_division_end(long otherwise)
{
	return otherwise + 1;
}

/* give_up has the function that faulted, which has no frame yet, return otherwise to its caller. */
static void give_up(greg_t *r, long otherwise)
{
	r[REG_RAX] = otherwise;
	r[REG_RIP] = *(greg_t *)r[REG_RSP];
	r[REG_RSP] += 8;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	uintptr_t pc = (uintptr_t)r[REG_RIP];
	const int32_t *t;
	(void)info;
	if (sig == SIGFPE && pc >= (uintptr_t)by_division && pc < (uintptr_t)by_division_end)
		return give_up(r, FAILED);
	if (pc == (uintptr_t)by_label_load) {
		r[REG_RIP] = (greg_t)by_label_else;
		return;
	}
	if (pc >= (uintptr_t)by_range && pc < (uintptr_t)by_range_end)
		return give_up(r, FAILED);
	if (pc >= (uintptr_t)__start_may_fault && pc < (uintptr_t)__stop_may_fault)
		return give_up(r, FAILED);
	for (t = __start_except_table; t < __stop_except_table; t += 2)
		if (pc == (uintptr_t)t + (uintptr_t)(intptr_t)t[0]) {
			r[REG_RIP] = (greg_t)((uintptr_t)(t + 1) + (uintptr_t)(intptr_t)t[1]);
			return;
		}
	(void)!write(1, "BAD a fault at an address that is not known\n", 44);
	_exit(66);
}

static void be_ready(void)
{
	struct sigaction sa;
	memset(&sa, 0, sizeof sa);
	sa.sa_sigaction = on_fault;
	sa.sa_flags = SA_SIGINFO;
	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
	sigaction(SIGFPE, &sa, NULL);
}

/* try_all gives what all the ways together read at p, and divide by what is there. */
NOINLINE static uint64_t try_all(const long *p, long divisor)
{
	uint64_t h = target_mix(1, (uint64_t)by_label(p, FAILED));
	h = target_mix(h, (uint64_t)by_range(p));
	h = target_mix(h, (uint64_t)by_table(p));
	h = target_mix(h, (uint64_t)by_section(p));
	return target_mix(h, (uint64_t)by_division(1000, divisor));
}

int main(int argc, char **argv)
{
	long there = 17;
	const long *gone;
	uint64_t good, bad, n = 0;
	volatile long divisor = 3, zero = 0;
	target_start();
	gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (argc > 1 && strcmp(argv[1], "late") == 0)
		target_wait_go();
	be_ready();
	good = try_all(&there, divisor);
	bad = try_all(gone, zero);
	while (target_running()) {
		if (try_all(&there, divisor) != good)
			target_bad("what is there came out as something else");
		if (++n % 16 == 0 && try_all(gone, zero) != bad)
			target_bad("what is not there came out as something else");
		by_range_end(n), by_division_end(n);
	}
	return target_finish(target_mix(good, bad));
}
