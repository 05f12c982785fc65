/* A program that patches its own text: a switch of five bytes in the middle of a function is a no-op or a jump, as tracing frameworks
 * and static branches have it. It goes to and fro while two threads run through it; at the end of each phase the other way must be
 * taken. The bytes that it finds must be those that it left. */
#include "target.h"
#include <pthread.h>
#include <sys/mman.h>

#define THREADS 2
#define PAGE 4096u

static uint64_t passed[THREADS], jumped[THREADS], stayed[THREADS];

/* through(h, counter of the jump, counter of the no-op). The switch lies within 8 aligned bytes, to be changed by one write. */
uint64_t through(uint64_t h, uint64_t *jump, uint64_t *stay);
extern unsigned char through_switch[], through_jumped[];
__asm__(".text\n\t.balign 64\n\t.globl through\n\t.type through, @function\n"
	"through:\tpush %rbx\n\tmov %rdi, %rax\n\timul $0x1003f, %rax, %rax\n\t.balign 8\n"
	"\t.globl through_switch\nthrough_switch:\t.byte 0x0f, 0x1f, 0x44, 0, 0\n"
	"\tincq (%rdx)\n\tjmp 1f\n\t.globl through_jumped\nthrough_jumped:\tincq (%rsi)\n"
	"1:\txor %rdi, %rax\n\tpop %rbx\n\tret\n\t.size through, . - through\n");

static uint64_t no_op, jump;

NOINLINE uint64_t pass(long i, uint64_t h)
{
	return target_mix(through(h, &jumped[i], &stayed[i]), 1);
}

static void *work(void *arg)
{
	long i = (long)(intptr_t)arg;
	while (!target_stopping) {
		uint64_t h = 1;
		for (int k = 0; k < 1000; k++)
			h = pass(i, h);
		if (passed[i] && h != passed[i])
			target_bad("another result");
		passed[i] = h;
	}
	return NULL;
}

NOINLINE void flip(int on)
{
	uint64_t *at = (uint64_t *)through_switch;
	uint64_t now = __atomic_load_n(at, __ATOMIC_RELAXED), want = on ? no_op : jump;
	if (now != want)
		target_bad("the switch holds %016llx instead of %016llx", (unsigned long long)now, (unsigned long long)want);
	if (mprotect((void *)((uintptr_t)at & ~(uintptr_t)(PAGE - 1)), PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		target_bad("mprotect: %s", strerror(errno));
	__atomic_store_n(at, on ? jump : no_op, __ATOMIC_SEQ_CST);
	if (mprotect((void *)((uintptr_t)at & ~(uintptr_t)(PAGE - 1)), PAGE, PROT_READ | PROT_EXEC) != 0)
		target_bad("mprotect: %s", strerror(errno));
}

int main(void)
{
	pthread_t threads[THREADS];
	int on = 0;
	target_start();
	memcpy(&no_op, through_switch, 8);
	int32_t distance = (int32_t)(through_jumped - (through_switch + 5));
	jump = no_op;
	((unsigned char *)&jump)[0] = 0xe9;
	memcpy((unsigned char *)&jump + 1, &distance, 4);
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i) != 0)
			target_bad("pthread_create");
	while (!target_stopping) {
		flip(on = !on);
		target_poll(2);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 2; i++) {
		uint64_t j = jumped[0], s = stayed[0];
		pass(0, 1);
		if (jumped[0] - j != (uint64_t)on || stayed[0] - s != (uint64_t)!on)
			target_bad("the switch does not do what it says");
		flip(on = !on);
	}
	if (passed[0] != passed[1])
		target_bad("the threads differ");
	return target_finish(passed[0]);
}
