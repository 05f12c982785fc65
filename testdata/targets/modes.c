/* One thread computes, makes system calls, and touches memory for the first time, each in a function of its own and for as long.
 * The system calls stand in the functions themselves, so that the instruction pointer tells which it was. */
#include "target.h"
#include <sys/mman.h>
#include <sys/syscall.h>

enum { PAGES = 2000, PAGE = 4096 };
static char *memory;

static inline long call(long nr, long a, long b, long c)
{
	long result;
	__asm__ volatile("syscall" : "=a"(result) : "a"(nr), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return result;
}

NOINLINE uint64_t compute(uint64_t end)
{
	uint64_t h = 1;
	do
		for (int i = 0; i < 200000; i++)
			h = target_mix(h, (uint64_t)i);
	while (target_now_ns() < end);
	return h;
}

NOINLINE uint64_t ask(uint64_t end)
{
	struct stat st;
	uint64_t n = 0;
	do
		for (int i = 0; i < 1000; i++)
			n += call(SYS_stat, (long)"/proc/self/../../usr/../usr/bin/env", (long)&st, 0) == 0;
	while (target_now_ns() < end);
	return n;
}

NOINLINE void give_back(void) { call(SYS_madvise, (long)memory, (long)PAGES * PAGE, MADV_DONTNEED); }

NOINLINE uint64_t touch(uint64_t end)
{
	uint64_t n = 0;
	do {
		give_back();
		for (int i = 0; i < PAGES; i++, n++)
			memory[(long)i * PAGE] = 1;
	} while (target_now_ns() < end);
	return n;
}

int main(void)
{
	target_start();
	memory = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || madvise(memory, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE) != 0)
		target_bad("memory: %s", strerror(errno));
	uint64_t slice = 20000000, computed = 0, asked = 0, touched = 0;
	while (target_running()) {
		computed += compute(target_now_ns() + slice) != 0;
		asked += ask(target_now_ns() + slice);
		touched += touch(target_now_ns() + slice);
	}
	target_count("computed", computed);
	target_count("asked", asked);
	target_count("touched", touched);
	return target_finish(computed > 0);
}
