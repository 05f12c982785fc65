/* Coroutines that leave where they say so: through swapcontext, and through a few instructions of its own that name the place where
 * to go on. They stand behind a call, or at that place, and nowhere else. */
#include "target.h"
#include <pthread.h>
#include <ucontext.h>

#define PAIRS 8
#define STACK (128 << 10)
#define SMALL(n) \
	NOINLINE static uint64_t small##n(uint64_t a, uint64_t b) { return (a ^ (a >> 7)) * (2 * n + 3) + b; }
SMALL(0) SMALL(1) SMALL(2) SMALL(3) SMALL(4) SMALL(5) SMALL(6) SMALL(7)

static ucontext_t main_context, context[PAIRS];
static int current;
static uint64_t expected, turns;
static volatile uint64_t one = 1;

struct place {
	void *sp, *pc, *bp;
};
static struct place here, there[PAIRS];

/* hop stores where the caller goes on and goes on elsewhere. */
#define HOP(from, to)                                                                                           \
	__asm__ volatile("leaq 1f(%%rip), %%rax\n\tmovq %%rsp, (%0)\n\tmovq %%rax, 8(%0)\n\tmovq %%rbp, 16(%0)\n\t" \
	                 "movq (%1), %%rsp\n\tmovq 16(%1), %%rbp\n\tjmpq *8(%1)\n1:\tnop"                         \
	                 : "+D"(from), "+S"(to)                                                                     \
	                 :                                                                                          \
	                 : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc")

static void check(uint64_t h)
{
	if (h != expected)
		target_bad("a coroutine's work came out wrong");
}

NOINLINE static void leave_library(int i) { swapcontext(&context[i], &main_context); }
NOINLINE static void leave_hand(int i)
{
	struct place *from = &there[i], *to = &here;
	HOP(from, to);
}
NOINLINE static void enter_hand(int i)
{
	struct place *from = &here, *to = &there[i];
	HOP(from, to);
}

NOINLINE static uint64_t work(int self, void (*leave)(int))
{
	uint64_t h = one;
	for (int i = 0; i < 64; i++) {
		h = small0(h, i), h = small1(h, i), h = small2(h, i), h = small3(h, i);
		if (leave && i % 16 == 0)
			leave(self);
		h = small4(h, i), h = small5(h, i), h = small6(h, i), h = small7(h, i);
	}
	return h;
}

static void by_library(void)
{
	int self = current;
	for (;;)
		check(work(self, leave_library));
}

static void by_hand(void)
{
	int self = current;
	for (;;)
		check(work(self, leave_hand));
}

/* idler is a thread like any other. */
static void *idler(void *p)
{
	for (;;)
		pause();
	return p;
}

int main(void)
{
	pthread_t thread;

	target_start();
	expected = work(0, NULL);
	for (int i = 0; i < PAIRS; i++) {
		char *stack = malloc(STACK);
		getcontext(&context[i]);
		context[i].uc_stack.ss_sp = malloc(STACK);
		context[i].uc_stack.ss_size = STACK;
		makecontext(&context[i], by_library, 0);
		there[i].sp = (void *)((((uintptr_t)stack + STACK) & ~(uintptr_t)15) - 8);
		there[i].pc = (void *)by_hand;
	}
	pthread_create(&thread, NULL, idler, NULL);
	while (target_running()) {
		for (int k = 0; k < 200; k++) {
			current = k % PAIRS;
			swapcontext(&main_context, &context[current]);
			enter_hand(current);
			turns++;
		}
	}
	return target_finish(expected);
}
