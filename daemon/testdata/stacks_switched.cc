/* A function waits on a stack of its own while the main stack handles an exception and jumps. It calls tick three times in a round. */
#include "target.h"
#include <csetjmp>
#include <sys/mman.h>
#include <ucontext.h>

static ucontext_t outside, inside;
static jmp_buf back;
static long ticks;

extern "C" {
NOINLINE void tick(void) { ticks++; __asm__ volatile("" : : : "memory"); }
NOINLINE void body(void)
{
	tick();
	swapcontext(&inside, &outside);
	tick();
	tick();
	__asm__ volatile("" : : : "memory");
}
NOINLINE void thrower(int n) { throw n; }
NOINLINE void jumper(void) { longjmp(back, 1); }
}

static void rounds_of_body() { for (;;) { body(); swapcontext(&inside, &outside); } }

int main(int argc, char **argv)
{
	target_start();
	int rounds = target_arg(argc, argv, 1, 1000);
	size_t size = 64 << 10;
	void *stack = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	getcontext(&inside);
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = size;
	makecontext(&inside, rounds_of_body, 0);
	target_wait_go();
	for (int n = 0; n < rounds; n++) {
		swapcontext(&outside, &inside);
		tick();
		try {
			thrower(n);
		} catch (int) {
		}
		if (!setjmp(back))
			jumper();
		tick();
		swapcontext(&outside, &inside);
	}
	target_count("rounds", rounds);
	printf("DONE\n");
	if (target_stdin_open)
		target_wait_stop();
	return target_finish((unsigned long)ticks);
}
