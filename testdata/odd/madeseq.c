/* Restartable sequences whose descriptors no file holds: the program makes one for each thread when it runs. Four threads add to counters of
 * each processor; the sum must be right. The commit is right before a return, with no room behind it, as is the third shape of percpu.c.
 * With an argument nobody adds before "go". */
#include "target.h"
#include <pthread.h>
#include <sys/rseq.h>

#define THREADS 4
#define ROUND 2000
#define REST 200000
#define CPUS 1024

struct descriptor {
	uint32_t version, flags;
	uint64_t start, length, abort;
} __attribute__((aligned(32)));

static struct {
	uint64_t n;
	char apart[120];
} counters[CPUS] __attribute__((aligned(128)));
static uint64_t added[THREADS];
static volatile uint64_t to_start, to_end, to_abort; /* from where made_add begins */

/* made_add(counters, rseq, descriptor) tries until it has added. */
void made_add(void *counters, struct rseq *rs, struct descriptor *cs);
uint64_t made_offset(int which);
__asm__(
	".pushsection .text\n\t.balign 16\n\t.globl made_add\n\t.type made_add, @function\n"
	"made_add:\tendbr64\n\tnop\n\tmov %rdx, 8(%rsi)\n"
	".Lbegin:\tmov 4(%rsi), %eax\n\tshl $7, %rax\n\tlea (%rdi,%rax), %r8\n\tmov (%r8), %rcx\n\tinc %rcx\n\tpause\n\tmov %rcx, (%r8)\n"
	".Lend:\tret\n\t.size made_add, . - made_add\n\t.long 0x53053053\n\t.type made_aborted, @function\n"
	"made_aborted:\n.Labort:\tjmp made_add\n\t.size made_aborted, . - made_aborted\n"
	"\t.balign 16\n\t.type made_offset, @function\n"
	"made_offset:\tmov $(.Lbegin - made_add), %eax\n\tcmp $1, %edi\n\tjb 1f\n\tmov $(.Lend - made_add), %eax\n\tje 1f\n\tmov $(.Labort - made_add), %eax\n"
	"1:\tret\n\t.size made_offset, . - made_offset\n\t.popsection\n"
	".pushsection .rodata\n\t.balign 4\n\t.globl made_where\nmade_where:\t.long made_add - made_where\n\t.popsection\n");
extern const int32_t made_where; /* how far made_add is from here: nothing else names it */

NOINLINE void add_one(struct rseq *rs, struct descriptor *cs)
{
	made_add(counters, rs, cs);
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
	struct rseq *rs = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
	uint64_t at = (uint64_t)(uintptr_t)&made_where + (int64_t)made_where;
	struct descriptor *cs = aligned_alloc(32, sizeof *cs);
	if (cs == NULL)
		target_bad("aligned_alloc");
	*cs = (struct descriptor){0, 0, at + to_start, to_end - to_start, at + to_abort};
	while (!target_stopping) {
		for (int k = 0; k < ROUND; k++)
			add_one(rs, cs);
		added[i] += ROUND;
		rest();
	}
	rs->rseq_cs = 0;
	free(cs);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	uint64_t want = 0, sum = 0;
	(void)argv;
	target_start();
	if (argc > 1)
		target_wait_go();
	if (__rseq_size == 0)
		target_bad("the C library registers no rseq area");
	to_start = made_offset(0);
	to_end = made_offset(1);
	to_abort = made_offset(2);
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i) != 0)
			target_bad("pthread_create");
	target_wait_stop();
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		want += added[i];
	}
	for (int i = 0; i < CPUS; i++)
		sum += counters[i].n;
	if (sum != want)
		target_bad("%llu instead of %llu", (unsigned long long)sum, (unsigned long long)want);
	target_count("added", want);
	return target_finish(target_mix(1, 1));
}
