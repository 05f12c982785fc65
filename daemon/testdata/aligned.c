/* Two sets of 64 copies of a small function, copy i of a set at an address that is i modulo 64. Entry and exit are several
 * instructions long, so that a thread can stand inside what a jump replaces, and slow there, so that some do. Threads wait for
 * "go" and call them all, round after round, until "stop"; the program prints how often. Each round must come to the same
 * result.
 * aligned [threads] */
#include "target.h"
#include <pthread.h>

enum { COPIES = 64, MAX_THREADS = 64 };

/* Slots of 128 bytes: a copy begins at most 63 bytes into its own and is shorter than the rest, so none lies in two pages. */
__asm__(".text\n .p2align 12\n .altmacro\n"
	".macro copy set n\n"
	" .p2align 7, 0xcc\n .fill \\n, 1, 0xcc\n"
	" .globl \\set\\n\n .type \\set\\n, @function\n\\set\\n:\n"
	" push %rbp\n lfence\n push %rbx\n"
	" lea 0x1234567+\\n(%rdi), %rax\n rol $7, %rax\n imul $0x10203, %rax, %rbx\n xor %rbx, %rax\n"
	" inc %rax\n mov %rax, %rbx\n lea 1(%rbx,%rbx,2), %rax\n"
	" pop %rbx\n lfence\n pop %rbp\n ret\n .size \\set\\n, . - \\set\\n\n"
	".endm\n"
	".macro copies set\n .set at, 0\n .rept 64\n copy \\set %at\n .set at, at+1\n .endr\n.endm\n"
	"copies stay\n copies flip\n"
	".macro refer set n\n .quad \\set\\n\n.endm\n"
	".section .data.rel.ro,\"aw\"\n .p2align 3\n"
	".macro table set\n .globl table_\\set\ntable_\\set:\n .set at, 0\n .rept 64\n refer \\set %at\n .set at, at+1\n .endr\n.endm\n"
	"table stay\n table flip\n .noaltmacro\n .text\n");

typedef uint64_t (*copy)(uint64_t);
extern copy const table_stay[COPIES], table_flip[COPIES];

static uint64_t rounds[MAX_THREADS];

static uint64_t one_round(void)
{
	uint64_t h = 1;
	for (int i = 0; i < COPIES; i++) {
		h = target_mix(h, table_stay[i](h));
		h = target_mix(h, table_flip[i](h));
	}
	return h;
}

static void *caller(void *arg)
{
	uint64_t *mine = arg, want = 0, h;
	while (!target_going)
		target_sleep_us(1000);
	for (; !target_stopping; ++*mine) {
		h = one_round();
		if (want && h != want)
			target_bad("%llx after %llx", (unsigned long long)h, (unsigned long long)want);
		want = h;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[MAX_THREADS];
	target_start();
	int threads = (int)target_arg(argc, argv, 1, 2);
	if (threads < 1 || threads > MAX_THREADS)
		target_bad("threads: 1 to %d", MAX_THREADS);
	for (int i = 0; i < COPIES; i++)
		if ((uintptr_t)table_stay[i] % 64 != (uintptr_t)i || (uintptr_t)table_flip[i] % 64 != (uintptr_t)i)
			target_bad("copy %d is not where it should be", i);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&t[i], NULL, caller, &rounds[i]) != 0)
			target_bad("pthread_create");
	target_wait_go();
	target_wait_stop();
	uint64_t sum = 0;
	for (int i = 0; i < threads; i++) {
		pthread_join(t[i], NULL);
		sum += rounds[i];
	}
	uint64_t hash = one_round();
	target_count("rounds", sum + 1);
	/* The counters are read before the program ends. */
	printf("DONE\n");
	target_stopping = 0;
	if (target_stdin_open)
		target_wait_stop();
	return target_finish(hash);
}
