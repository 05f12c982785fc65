/* Co-operative coroutines, of swapcontext and written by hand, that go from thread to thread: a stack that ran here goes on there.
 * fibers [0: swapcontext, 1: by hand, resumed where a call returns to, 2: by hand, resumed at a label in a function] */
#include "target.h"
#include <pthread.h>
#include <ucontext.h>

#define THREADS 2
#define COROUTINES 24
#define STACK (32u << 10)

struct coroutine {
	ucontext_t context;
	void *sp; /* of a switch by hand */
	char *stack;
	uint64_t hash, steps;
	int started;
	pthread_mutex_t lock; /* held by the thread that runs it */
};

static struct coroutine all[COROUTINES];
static int kind;

struct scheduler {
	ucontext_t context;
	void *sp;
	struct coroutine *now;
};

/* A coroutine finds who resumed it by a word at the top of its stack: a thread-local would be kept in a register across a switch. */
static struct scheduler *resumed_by[COROUTINES];

void switch_call(void **save, void *to);
void switch_label(void **save, void *to);
extern uint64_t switch_resume; /* address of the label at which switch_label goes on */
__asm__(".text\n\t.globl switch_call\n\t.type switch_call, @function\n"
	"switch_call:\tpush %rbp\n\tpush %rbx\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n"
	"\tmov %rsp, (%rdi)\n\tmov %rsi, %rsp\n"
	"\tpop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbx\n\tpop %rbp\n\tret\n\t.size switch_call, . - switch_call\n"
	"\t.balign 16\n\t.globl switch_label\n\t.type switch_label, @function\n"
	"switch_label:\tpush %rbp\n\tpush %rbx\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n"
	"\tlea 1f(%rip), %rax\n\tpush %rax\n\tmov %rsp, (%rdi)\n\tmov %rsi, %rsp\n\tpop %rax\n\tjmp *%rax\n"
	"1:\tpop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbx\n\tpop %rbp\n\tret\n\t.size switch_label, . - switch_label\n"
	".data\n\t.balign 8\n\t.globl switch_resume\nswitch_resume:\t.quad 1b\n\t.text\n");

NOINLINE void yield(int i)
{
	struct coroutine *c = &all[i];
	if (kind == 0)
		swapcontext(&c->context, &resumed_by[i]->context);
	else
		(kind == 1 ? switch_call : switch_label)(&c->sp, resumed_by[i]->sp);
}

NOINLINE uint64_t step(int i, uint64_t h, int depth)
{
	volatile uint64_t kept = h;
	if (depth > 0)
		h = step(i, target_mix(h, (uint64_t)depth), depth - 1);
	else
		yield(i);
	return target_mix(h, kept);
}

static void body(int i)
{
	for (;;) {
		uint64_t h = step(i, (uint64_t)i, 6);
		if (all[i].hash && h != all[i].hash)
			target_bad("coroutine %d: another result", i);
		all[i].hash = h;
		all[i].steps++;
	}
}

static void body_by_hand(void)
{
	int i;
	__asm__ volatile("mov %%ebx, %0" : "=r"(i));
	body(i);
}

/* prepare makes a stack that looks as if the coroutine had switched away before its first instruction; rbx is its number. */
static void prepare(int i)
{
	struct coroutine *c = &all[i];
	c->stack = malloc(STACK);
	if (!c->stack)
		target_bad("no memory");
	pthread_mutex_init(&c->lock, NULL);
	if (kind == 0) {
		getcontext(&c->context);
		c->context.uc_stack.ss_sp = c->stack;
		c->context.uc_stack.ss_size = STACK;
		makecontext(&c->context, (void (*)(void))body, 1, i);
		return;
	}
	uint64_t *top = (uint64_t *)(((uintptr_t)c->stack + STACK) & ~(uintptr_t)63);
	*--top = 0;
	*--top = (uint64_t)body_by_hand; /* entered by ret: rsp is then 8 below a multiple of 16 */
	for (int k = 0; k < 6; k++)
		*--top = k == 1 ? (uint64_t)i : 0; /* rbp rbx r12 r13 r14 r15 */
	if (kind == 2)
		*--top = switch_resume;
	c->sp = top;
}

NOINLINE void resume(struct scheduler *s, int i)
{
	resumed_by[i] = s;
	if (kind == 0)
		swapcontext(&s->context, &all[i].context);
	else
		(kind == 1 ? switch_call : switch_label)(&s->sp, all[i].sp);
}

static void *schedule(void *arg)
{
	struct scheduler s;
	int i = (int)(intptr_t)arg;
	while (!target_stopping) {
		i = (i + 1) % COROUTINES;
		if (pthread_mutex_trylock(&all[i].lock) != 0)
			continue;
		resume(&s, i);
		pthread_mutex_unlock(&all[i].lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	uint64_t hash = 0, steps = 0;
	target_start();
	kind = (int)target_arg(argc, argv, 1, 0);
	for (int i = 0; i < COROUTINES; i++)
		prepare(i);
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, schedule, (void *)(intptr_t)(i * 7)) != 0)
			target_bad("pthread_create");
	target_wait_stop();
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < COROUTINES; i++) {
		hash = target_mix(hash, all[i].hash);
		steps += all[i].steps;
		if (all[i].steps == 0)
			target_bad("coroutine %d never came to its end", i);
	}
	target_count("steps", steps);
	return target_finish(hash);
}
