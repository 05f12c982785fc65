/* Functions whose entries and exits have no room for a jump: none to four bytes before a call, returns between places that are
 * jumped to, jumps that would lie in two pages. Threads wait for "go", call each of them, and the program prints how often.
 * Without arguments two threads do the same work again and again until "stop", and each round must come to the same result.
 * "child" makes a forked child do the same until the program ends.
 * narrow [N calls a thread] [threads] */
#include "target.h"
#include <pthread.h>
#include <sys/prctl.h>

enum { MAX_THREADS = 64 };

/* All take and return a number in the registers of the C calling convention and keep the others as it says. */
asm(".text\n"
    /* a byte, then a call; none of them lies in two pages */
    ".globl push_call\n .type push_call,@function\n .p2align 9\npush_call:\n"
    " push %rbx\n call leaf\n lea 0x1001(%rax),%rax\n pop %rbx\n ret\n .size push_call,.-push_call\n .byte 0xf4\n"
    /* a byte, then a place that a loop jumps to, which calls */
    ".globl push_loop\n .type push_loop,@function\npush_loop:\n"
    " push %rbx\n1: call leaf\n mov %rax,%rdi\n test $0x3,%al\n jne 1b\n pop %rbx\n ret\n .size push_loop,.-push_loop\n .byte 0xf4\n"
    /* a bare return that is jumped to, before a place that is jumped to */
    ".globl bare_return\n .type bare_return,@function\nbare_return:\n"
    " lea 0x11223344(%rdi),%rax\n test $1,%dil\n je 1f\n test $2,%dil\n jne 2f\n xor $0x55667788,%eax\n"
    "1: ret\n2: xor $0x12345678,%rax\n lea 8(%rax),%rax\n ret\n .size bare_return,.-bare_return\n .byte 0xf4\n"
    /* room for a short jump, nothing nearby but the function's own instructions */
    ".globl two_bytes\n .type two_bytes,@function\ntwo_bytes:\n"
    " sub $8,%rsp\n call leaf\n lea 0x100(%rax,%rax,2),%rdx\n xor $0x1234567,%rdx\n lea 0x77(%rdx),%rax\n"
    " test $1,%al\n jne 1f\n add $8,%rsp\n ret\n1: inc %rax\n add $8,%rsp\n ret\n .size two_bytes,.-two_bytes\n .byte 0xf4\n"
    /* returns of two and three bytes that are jumped to */
    ".globl short_returns\n .type short_returns,@function\nshort_returns:\n"
    " push %rbx\n mov %rdi,%rbx\n lea 0x1234567(%rbx),%rax\n imul $0x10203,%rax,%rax\n test $1,%bl\n je 1f\n test $2,%bl\n je 2f\n"
    " test $4,%bl\n je 3f\n xor $0x7777777,%rax\n lea 0x1010101(%rax),%rax\n sub $0x4444444,%rax\n lea 0x3030303(%rax),%rax\n"
    "1: pop %rbx\n ret\n2: pop %rbx\n ret\n3: pop %rbx\n ret\n .size short_returns,.-short_returns\n .byte 0xf4\n"
    /* what the following call: it uses no stack, on which they have no opinion */
    " .p2align 9\n .type plain,@function\nplain:\n"
    " lea 0x1357(%rdi,%rdi,4),%rax\n mov %rax,%rdx\n shr $29,%rdx\n xor %rdx,%rax\n ret\n .size plain,.-plain\n .byte 0xf4\n"
    /* nothing before a call */
    ".globl call_first\n .type call_first,@function\ncall_first:\n"
    " call plain\n lea 0x100(%rax),%rax\n ret\n .size call_first,.-call_first\n .byte 0xf4\n"
    /* two bytes in two instructions, then a call; too few behind it to make room */
    ".globl two_call\n .type two_call,@function\ntwo_call:\n"
    " push %rbx\n push %rbp\n call plain\n pop %rbp\n pop %rbx\n inc %rax\n ret\n .size two_call,.-two_call\n .byte 0xf4\n"
    /* three bytes, one of them an instruction of its own */
    ".globl three_call\n .type three_call,@function\nthree_call:\n"
    " push %rbx\n mov %edi,%ebx\n call plain\n add %rbx,%rax\n pop %rbx\n ret\n .size three_call,.-three_call\n .byte 0xf4\n"
    /* four bytes in one instruction, as compilers begin functions that only call */
    ".globl four_call\n .type four_call,@function\nfour_call:\n"
    " sub $8,%rsp\n call plain\n add $8,%rsp\n ret\n .size four_call,.-four_call\n .byte 0xf4\n"
    /* the same behind an endbr64, four bytes in two instructions */
    ".globl endbr_call\n .type endbr_call,@function\nendbr_call:\n"
    " endbr64\n push %rbx\n mov %rdi,%rbx\n call plain\n xor %rbx,%rax\n pop %rbx\n ret\n .size endbr_call,.-endbr_call\n .byte 0xf4\n"
    /* two bytes of a tail jump that is jumped to, before a place that is jumped to */
    ".globl short_tail\n .type short_tail,@function\nshort_tail:\n"
    " test $3,%dil\n je 1f\n jp 5f\n xor $0x55667788,%rdi\n4: lea 0x10(%rdi),%rax\n ret\n"
    "1: jmp 3f\n5: xor $0x12345678,%rdi\n jmp 4b\n .size short_tail,.-short_tail\n .byte 0xf4\n"
    " .type behind,@function\nbehind:\n3: lea 0x1111111(%rdi),%rax\n ret\n .size behind,.-behind\n .byte 0xf4\n"
    /* the first instruction lies in two pages, behind padding */
    " .p2align 12,0xf4\n .skip 4077,0xf4\n .type page_before,@function\npage_before:\n ret\n .size page_before,.-page_before\n"
    " .skip 15,0xcc\n .globl page_entry\n .type page_entry,@function\npage_entry:\n"
    " mov $0x1234567,%rax\n xor $0x7654321,%rax\n lea 0x3333333(%rax,%rdi),%rax\n imul $0x10203,%rax,%rax\n ret\n"
    " .size page_entry,.-page_entry\n .byte 0xf4\n"
    /* so do the last five bytes */
    " .p2align 12,0xf4\n .skip 4080,0xf4\n .globl page_return\n .type page_return,@function\npage_return:\n"
    " lea 0x1010101(%rdi),%rax\n lea 0x10(%rdi),%rdx\n xor %rdx,%rax\n lea 1(%rax),%rax\n ret\n .size page_return,.-page_return\n .byte 0xf4\n"
    /* so does the displacement of a tail jump: the page begins within it */
    " .p2align 12,0xf4\n .skip 4083,0xf4\n .globl page_tail\n .type page_tail,@function\npage_tail:\n"
    " lea 0x2020202(%rdi),%rdi\n xor %rsi,%rsi\n .byte 0xe9\n .long plain-.-4\n .size page_tail,.-page_tail\n .byte 0xf4\n");

extern uint64_t push_call(uint64_t), push_loop(uint64_t), bare_return(uint64_t), two_bytes(uint64_t), short_returns(uint64_t),
    call_first(uint64_t), two_call(uint64_t), three_call(uint64_t), four_call(uint64_t), endbr_call(uint64_t), short_tail(uint64_t),
    page_entry(uint64_t), page_return(uint64_t), page_tail(uint64_t);

static uint64_t calls_each = 1000;
static int for_ever;
static uint64_t hashes[MAX_THREADS], leaves[MAX_THREADS];
static __thread uint64_t leaves_here;

__attribute__((used)) NOINLINE uint64_t leaf(uint64_t x)
{
	leaves_here++;
	return target_mix(x, 5);
}

static NOINLINE uint64_t work(int me)
{
	uint64_t h = (uint64_t)me;
	for (uint64_t i = 0; i < calls_each; i++) {
		h = target_mix(h, push_call(h));
		h = target_mix(h, push_loop(h));
		h = target_mix(h, bare_return(h >> 7));
		h = target_mix(h, two_bytes(h));
		h = target_mix(h, short_returns(h >> 11));
		h = target_mix(h, call_first(h) ^ two_call(h >> 3) ^ three_call(h >> 5) ^ four_call(h >> 9) ^ endbr_call(h >> 13));
		h = target_mix(h, short_tail(h >> 4) ^ page_entry(h >> 6) ^ page_return(h >> 8) ^ page_tail(h >> 10));
	}
	return h;
}

static void *caller(void *arg)
{
	int me = (int)(intptr_t)arg;
	while (!for_ever && !target_going)
		target_sleep_us(1000);
	do {
		uint64_t h = work(me);
		if (hashes[me] && hashes[me] != h)
			target_bad("thread %d: %llx after %llx", me, (unsigned long long)h, (unsigned long long)hashes[me]);
		hashes[me] = h;
	} while (for_ever && !target_stopping);
	leaves[me] = leaves_here;
	return NULL;
}

static void fork_child(const char *line)
{
	pid_t pid = strcmp(line, "child") == 0 ? fork() : 1;
	if (pid < 0)
		target_bad("fork");
	if (pid > 0) {
		printf("CHILD %d\n", (int)pid);
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(600);
	for_ever = 1;
	target_stopping = 0;
	caller(NULL);
}

int main(int argc, char **argv)
{
	pthread_t tid[MAX_THREADS];
	target_start();
	calls_each = (uint64_t)target_arg(argc, argv, 1, (long)calls_each);
	int threads = (int)target_arg(argc, argv, 2, 2);
	for_ever = argc < 2;
	target_command = fork_child;
	if (threads < 1 || threads > MAX_THREADS)
		target_bad("threads: 1 to %d", MAX_THREADS);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&tid[i], NULL, caller, (void *)(intptr_t)i) != 0)
			target_bad("pthread_create");
	if (for_ever)
		target_wait_stop();
	target_wait_go();
	uint64_t hash = 0, leaf_calls = 0;
	for (int i = 0; i < threads; i++) {
		pthread_join(tid[i], NULL);
		hash = target_mix(hash, hashes[i]);
		leaf_calls += leaves[i];
	}
	uint64_t each = calls_each * (uint64_t)threads;
	target_count("push_call", each);
	target_count("push_loop", each);
	target_count("bare_return", each);
	target_count("two_bytes", each);
	target_count("short_returns", each);
	target_count("call_first", each);
	target_count("two_call", each);
	target_count("three_call", each);
	target_count("four_call", each);
	target_count("endbr_call", each);
	target_count("short_tail", each);
	target_count("page_entry", each);
	target_count("page_return", each);
	target_count("page_tail", each);
	target_count("leaf", leaf_calls);
	if (for_ever)
		return target_finish(hash);
	/* Stay until told to go, so that counters can be read and the detach can be seen. */
	printf("DONE\n");
	if (target_stdin_open)
		target_wait_stop();
	return target_finish(hash);
}
