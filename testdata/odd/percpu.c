/* Restartable sequences: counters of each processor that are added to without a locked instruction. The kernel sends a thread that was
 * preempted or moved inside a sequence to its abort handler; it finds the sequence by the address of the code. Code that was moved
 * elsewhere would lose counts, and an abort handler is an entry that no jump in the program shows.
 * Four threads add; the sum must be right. Three shapes: the handler out of line, the handler right before a return, and the commit right
 * before a return, with no room behind it: who needs five bytes at the return would like to move the commit (and a pause before it, which
 * makes the loss likely). */
#include "target.h"
#include <pthread.h>
#include <sched.h>
#include <sys/rseq.h>

#define THREADS 4
#define ROUND 2000
#define REST 200000
#define CPUS 1024
#define KINDS 3

static struct {
	uint64_t n;
	char apart[120];
} counters[KINDS][CPUS] __attribute__((aligned(128)));
static uint64_t added[THREADS];

static struct rseq *mine(void)
{
	return (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
}

/* far_add(counters, rseq): 1 if it added, 0 if it was disturbed. near_add does the same; last_add tries until it has added. rdi = counters, rsi = struct rseq (cpu_id at
 * 4, rseq_cs at 8). */
uint64_t far_add(void *counters, struct rseq *rs);
uint64_t near_add(void *counters, struct rseq *rs);
void last_add(void *counters, struct rseq *rs);
__asm__(
	".pushsection __rseq_cs, \"aw\"\n\t.balign 32\n"
	".Lfar_cs:\t.long 0, 0\n\t.quad .Lfar_begin, .Lfar_end - .Lfar_begin, .Lfar_abort\n\t.balign 32\n"
	".Lnear_cs:\t.long 0, 0\n\t.quad .Lnear_begin, .Lnear_end - .Lnear_begin, .Lnear_abort\n\t.balign 32\n"
	".Llast_cs:\t.long 0, 0\n\t.quad .Llast_begin, .Llast_end - .Llast_begin, .Llast_abort\n\t.popsection\n"
	".pushsection .text\n\t.globl far_add\n\t.type far_add, @function\n"
	"far_add:\tlea .Lfar_cs(%rip), %rax\n\tmov %rax, 8(%rsi)\n"
	".Lfar_begin:\tmov 4(%rsi), %eax\n\tshl $7, %rax\n\tmov (%rdi,%rax), %rcx\n\tinc %rcx\n\tmov %rcx, (%rdi,%rax)\n"
	".Lfar_end:\tmov $1, %eax\n\tret\n\t.size far_add, . - far_add\n"
	"\t.balign 16\n\t.long 0x53053053\n\t.type far_aborted, @function\n"
	"far_aborted:\n.Lfar_abort:\txor %eax, %eax\n\tret\n\t.size far_aborted, . - far_aborted\n"
	"\t.balign 16\n\t.globl near_add\n\t.type near_add, @function\n"
	"near_add:\tlea .Lnear_cs(%rip), %rax\n\tmov %rax, 8(%rsi)\n"
	".Lnear_begin:\tmov 4(%rsi), %eax\n\tshl $7, %rax\n\tmov (%rdi,%rax), %rcx\n\tinc %rcx\n\tmov %rcx, (%rdi,%rax)\n"
	".Lnear_end:\tmov $1, %eax\n\tjmp 1f\n\t.long 0x53053053\n"
	".Lnear_abort:\txor %eax, %eax\n1:\tret\n\t.size near_add, . - near_add\n"
	"\t.balign 16\n\t.globl last_add\n\t.type last_add, @function\n"
	"last_add:\tlea .Llast_cs(%rip), %rax\n\tmov %rax, 8(%rsi)\n"
	".Llast_begin:\tmov 4(%rsi), %eax\n\tshl $7, %rax\n\tlea (%rdi,%rax), %rdx\n\tmov (%rdx), %rcx\n\tinc %rcx\n\tpause\n\tmov %rcx, (%rdx)\n"
	".Llast_end:\tret\n\t.size last_add, . - last_add\n\t.long 0x53053053\n\t.type last_aborted, @function\n"
	"last_aborted:\n.Llast_abort:\tjmp last_add\n\t.size last_aborted, . - last_aborted\n\t.popsection\n");

NOINLINE void add_one(struct rseq *rs)
{
	while (!far_add(counters[0], rs))
		;
	while (!near_add(counters[1], rs))
		;
	last_add(counters[2], rs);
}

/* rest has no sequences: a thread that is always in one cannot be patched there. */
static void rest(void)
{
	for (volatile int i = 0; i < REST; i++)
		;
}

static void *work(void *arg)
{
	long i = (long)(intptr_t)arg;
	struct rseq *rs = mine();
	while (!target_stopping) {
		for (int k = 0; k < ROUND; k++)
			add_one(rs);
		added[i] += ROUND;
		rest();
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	uint64_t want = 0;
	target_start();
	if (__rseq_size == 0)
		target_bad("the C library registers no rseq area");
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i) != 0)
			target_bad("pthread_create");
	target_wait_stop();
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		want += added[i];
	}
	for (int kind = 0; kind < KINDS; kind++) {
		uint64_t sum = 0;
		for (int i = 0; i < CPUS; i++)
			sum += counters[kind][i].n;
		if (sum != want)
			target_bad("kind %d: %llu instead of %llu", kind, (unsigned long long)sum, (unsigned long long)want);
	}
	target_count("added", want);
	return target_finish(target_mix(1, 1));
}
