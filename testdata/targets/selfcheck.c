/* Looks, all the time and from several threads, for traces of somebody in the program who did not clean up:
 * red zone, callee-saved and caller-saved registers (callers compiled with -fipa-ra keep values in those),
 * vector registers, MXCSR, x87 control word, direction flag, errno, argument and result registers,
 * and that every signal sent arrives once. Good functions to instrument: leaf_*, through_c, takes_many, on_signal.
 * selfcheck [threads [signals]] (0: none are sent) */
#include "target.h"
#include <pthread.h>

enum { MAX_THREADS = 32 };
static uint64_t rounds[MAX_THREADS], signals_sent, signals_seen;
static volatile int on = 1;
static int have_avx;

/* Leaves in assembly with usual kinds of first instructions. None changes a register. */
__asm__(".text\n"
	".macro leaf name\n"
	".globl \\name\n .type \\name, @function\n .p2align 4\n \\name:\n"
	".endm\n"
	".macro endleaf name\n"
	" ret\n .size \\name, . - \\name\n"
	".endm\n"
	"leaf leaf_push\n push %rbp\n mov %rsp, %rbp\n lock incq leaf_calls(%rip)\n pop %rbp\n endleaf leaf_push\n"
	"leaf leaf_endbr\n endbr64\n lock incq leaf_calls(%rip)\n endleaf leaf_endbr\n"
	"leaf leaf_frame\n sub $24, %rsp\n movq $7, 8(%rsp)\n lock incq leaf_calls(%rip)\n add $24, %rsp\n endleaf leaf_frame\n"
	"leaf leaf_rip\n lock incq leaf_calls(%rip)\n endleaf leaf_rip\n"
	"leaf leaf_short\n nop\n endleaf leaf_short\n"
	".data\n .globl leaf_calls\n .p2align 6\n leaf_calls: .quad 0\n .text\n");
extern uint64_t leaf_calls;
void leaf_push(void);
void leaf_endbr(void);
void leaf_frame(void);
void leaf_rip(void);
void leaf_short(void);
typedef void (*leaf)(void);
static leaf const leaves[] = {leaf_push, leaf_endbr, leaf_frame, leaf_rip, leaf_short};
enum { LEAVES = sizeof leaves / sizeof *leaves };

NOINLINE uint64_t through_c(uint64_t x)
{
	return target_mix(x, 11);
}

/* call_with_registers loads want[0..14] into rax rbx rcx rdx rsi rdi rbp r8 ... r15, calls f, and stores what it finds. */
__asm__(".text\n .globl call_with_registers\n .type call_with_registers, @function\n .p2align 4\n"
	"call_with_registers:\n .cfi_startproc\n"
	" push %rbx\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset rbx, 0\n"
	" push %rbp\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset rbp, 0\n"
	" push %r12\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset r12, 0\n"
	" push %r13\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset r13, 0\n"
	" push %r14\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset r14, 0\n"
	" push %r15\n .cfi_adjust_cfa_offset 8\n .cfi_rel_offset r15, 0\n"
	" push %rdx\n .cfi_adjust_cfa_offset 8\n"
	" push %rdi\n .cfi_adjust_cfa_offset 8\n"
	" mov %rsi, %rax\n"
	" mov 8(%rax), %rbx\n"
	" mov 16(%rax), %rcx\n"
	" mov 24(%rax), %rdx\n"
	" mov 32(%rax), %rsi\n"
	" mov 40(%rax), %rdi\n"
	" mov 48(%rax), %rbp\n"
	" mov 56(%rax), %r8\n"
	" mov 64(%rax), %r9\n"
	" mov 72(%rax), %r10\n"
	" mov 80(%rax), %r11\n"
	" mov 88(%rax), %r12\n"
	" mov 96(%rax), %r13\n"
	" mov 104(%rax), %r14\n"
	" mov 112(%rax), %r15\n"
	" mov (%rax), %rax\n"
	" call *(%rsp)\n"
	" push %rax\n .cfi_adjust_cfa_offset 8\n mov 16(%rsp), %rax\n"
	" mov %rbx, 8(%rax)\n"
	" mov %rcx, 16(%rax)\n"
	" mov %rdx, 24(%rax)\n"
	" mov %rsi, 32(%rax)\n"
	" mov %rdi, 40(%rax)\n"
	" mov %rbp, 48(%rax)\n"
	" mov %r8, 56(%rax)\n"
	" mov %r9, 64(%rax)\n"
	" mov %r10, 72(%rax)\n"
	" mov %r11, 80(%rax)\n"
	" mov %r12, 88(%rax)\n"
	" mov %r13, 96(%rax)\n"
	" mov %r14, 104(%rax)\n"
	" mov %r15, 112(%rax)\n"
	" pop %rbx\n .cfi_adjust_cfa_offset -8\n mov %rbx, (%rax)\n"
	" add $16, %rsp\n .cfi_adjust_cfa_offset -16\n"
	" pop %r15\n .cfi_adjust_cfa_offset -8\n .cfi_restore r15\n"
	" pop %r14\n .cfi_adjust_cfa_offset -8\n .cfi_restore r14\n"
	" pop %r13\n .cfi_adjust_cfa_offset -8\n .cfi_restore r13\n"
	" pop %r12\n .cfi_adjust_cfa_offset -8\n .cfi_restore r12\n"
	" pop %rbp\n .cfi_adjust_cfa_offset -8\n .cfi_restore rbp\n"
	" pop %rbx\n .cfi_adjust_cfa_offset -8\n .cfi_restore rbx\n"
	" ret\n .cfi_endproc\n .size call_with_registers, . - call_with_registers\n");
void call_with_registers(leaf f, const uint64_t *want, uint64_t *got);

/* All registers but rsp hold known values across the call of a leaf. */
NOINLINE void check_general_registers(leaf f, uint64_t seed)
{
	static const char *const names[] = {"rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "r8",
					    "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
	uint64_t want[15], got[15];
	for (int i = 0; i < 15; i++)
		want[i] = target_mix(seed, (uint64_t)i);
	call_with_registers(f, want, got);
	for (int i = 0; i < 15; i++)
		if (got[i] != want[i])
			target_bad("%s changed across a leaf: %llx, was %llx", names[i], (unsigned long long)got[i],
				   (unsigned long long)want[i]);
}

/* The callee-saved registers survive a function compiled from C. */
NOINLINE void check_callee_saved(uint64_t seed)
{
	uint64_t got[5];
	uint64_t a = target_mix(seed, 1), b = target_mix(seed, 2), c = target_mix(seed, 3), d = target_mix(seed, 4),
		 e = target_mix(seed, 5);
	register uint64_t r12 __asm__("r12") = b;
	register uint64_t r13 __asm__("r13") = c;
	register uint64_t r14 __asm__("r14") = d;
	register uint64_t r15 __asm__("r15") = e;
	uint64_t rbx = a;
	__asm__ volatile("push %%rbp\n mov %%rsp, %%rbp\n sub $256, %%rsp\n and $-64, %%rsp\n"
			 "mov $77, %%edi\n call through_c\n"
			 "mov %%rbp, %%rsp\n pop %%rbp\n"
			 : "+b"(rbx), "+r"(r12), "+r"(r13), "+r"(r14), "+r"(r15)
			 :
			 : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1",
			   "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
			   "xmm13", "xmm14", "xmm15");
	got[0] = rbx, got[1] = r12, got[2] = r13, got[3] = r14, got[4] = r15;
	if (got[0] != a || got[1] != b || got[2] != c || got[3] != d || got[4] != e)
		target_bad("a callee-saved register changed");
}

/* The 128 bytes below rsp belong to a leaf function, even while something stops it. */
NOINLINE void check_red_zone(uint64_t seed)
{
	uint64_t bad = 0;
	__asm__ volatile("mov %[seed], %%rax\n mov $16, %%ecx\n"
			 "1: mov %%rax, -136(%%rsp,%%rcx,8)\n inc %%rax\n dec %%ecx\n jnz 1b\n"
			 "mov $2000, %%edx\n"
			 "2: dec %%edx\n jnz 2b\n"
			 "mov %[seed], %%rax\n mov $16, %%ecx\n"
			 "3: cmp %%rax, -136(%%rsp,%%rcx,8)\n je 4f\n inc %[bad]\n"
			 "4: inc %%rax\n dec %%ecx\n jnz 3b\n"
			 : [bad] "+r"(bad)
			 : [seed] "r"(seed)
			 : "rax", "rcx", "rdx", "memory", "cc");
	if (bad)
		target_bad("%llu words of the red zone changed", (unsigned long long)bad);
}

__attribute__((target("avx"))) NOINLINE static void check_ymm(leaf f, uint64_t seed)
{
	uint64_t want[64] __attribute__((aligned(32))), got[64] __attribute__((aligned(32)));
	for (int i = 0; i < 64; i++)
		want[i] = target_mix(seed, (uint64_t)i);
#define EACH(op) \
	op(0) op(1) op(2) op(3) op(4) op(5) op(6) op(7) op(8) op(9) op(10) op(11) op(12) op(13) op(14) op(15)
#define LOAD(n) "vmovdqu " #n "*32(%[want]), %%ymm" #n "\n"
#define STORE(n) "vmovdqu %%ymm" #n ", " #n "*32(%[got])\n"
	__asm__ volatile("lea -128(%%rsp), %%rsp\n" EACH(LOAD) "call *%[f]\n" EACH(STORE)
			 "vzeroupper\n lea 128(%%rsp), %%rsp\n"
			 :
			 : [want] "r"(want), [got] "r"(got), [f] "r"(f)
			 : "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
			   "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
	for (int i = 0; i < 64; i++)
		if (got[i] != want[i])
			target_bad("ymm%d changed", i / 4);
}

NOINLINE void check_modes(leaf f)
{
	uint32_t mxcsr = 0x1f80 | 0x6000, mxcsr_after, mxcsr_old; /* round toward zero */
	uint16_t cw = 0x0f7f, cw_after, cw_old;
	uint64_t flags;
	__asm__ volatile("stmxcsr %0\n fnstcw %1" : "=m"(mxcsr_old), "=m"(cw_old));
	__asm__ volatile("ldmxcsr %0\n fldcw %1" : : "m"(mxcsr), "m"(cw));
	errno = 1234;
	f();
	__asm__ volatile("pushfq\n pop %0" : "=r"(flags));
	__asm__ volatile("stmxcsr %0\n fnstcw %1" : "=m"(mxcsr_after), "=m"(cw_after));
	__asm__ volatile("ldmxcsr %0\n fldcw %1" : : "m"(mxcsr_old), "m"(cw_old));
	if (mxcsr_after != mxcsr || cw_after != cw)
		target_bad("MXCSR %x, x87 control word %x", mxcsr_after, cw_after);
	if (flags & (1 << 10))
		target_bad("the direction flag is set");
	if (errno != 1234)
		target_bad("errno became %d", errno);
}

struct pair {
	uint64_t a, b;
};

NOINLINE struct pair returns_pair(uint64_t x)
{
	return (struct pair){target_mix(x, 1), target_mix(x, 2)};
}

NOINLINE long double returns_x87(long double x)
{
	return x * 1.5L;
}

NOINLINE double takes_many(int a, long b, double c, float d, uint64_t e, uint64_t f, uint64_t g, uint64_t h, double i)
{
	return a + (double)b + c + (double)d + (double)e + (double)f + (double)g + (double)h + i;
}

NOINLINE double variadic(int n, ...)
{
	double sum = 0;
	va_list ap;
	va_start(ap, n);
	for (int i = 0; i < n; i++)
		sum += va_arg(ap, double);
	va_end(ap);
	return sum;
}

NOINLINE void check_arguments(uint64_t seed)
{
	struct pair p = returns_pair(seed);
	if (p.a != target_mix(seed, 1) || p.b != target_mix(seed, 2))
		target_bad("rax:rdx changed at a return");
	if (returns_x87(2.0L) != 3.0L)
		target_bad("st0 changed at a return");
	if (takes_many(1, 2, 3, 4, 5, 6, 7, 8, 9) != 45)
		target_bad("an argument changed at an entry");
	if (variadic(6, 1., 2., 3., 4., 5., 6.) != 21)
		target_bad("a variadic argument changed at an entry");
}

NOINLINE void on_signal(int sig)
{
	(void)sig;
	__atomic_fetch_add(&signals_seen, 1, __ATOMIC_RELAXED);
}

static void all_checks(uint64_t seed)
{
	for (int i = 0; i < LEAVES; i++) {
		check_general_registers(leaves[i], seed + (uint64_t)i);
		check_modes(leaves[i]);
		if (have_avx)
			check_ymm(leaves[i], seed);
	}
	check_callee_saved(seed);
	check_red_zone(seed);
	check_arguments(seed);
}

static void *checker(void *arg)
{
	uint64_t *mine = arg;
	stack_t alternate = {.ss_sp = malloc(64 << 10), .ss_size = 64 << 10};
	sigaltstack(&alternate, NULL);
	do { /* at least once, also when it is to stop before this thread has run */
		all_checks(*mine);
		(*mine)++;
	} while (on);
	alternate.ss_flags = SS_DISABLE;
	sigaltstack(&alternate, NULL);
	free(alternate.ss_sp);
	return NULL;
}

/* storm queues real-time signals, which the kernel does not merge. */
static void *storm(void *arg)
{
	while (on) {
		if (sigqueue(getpid(), SIGRTMIN + 1, (union sigval){0}) == 0)
			signals_sent++;
		else if (errno != EAGAIN)
			target_bad("sigqueue: %s", strerror(errno));
		target_sleep_us(500);
	}
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t[MAX_THREADS], sender;
	struct sigaction sa;
	target_start();
	int threads = (int)target_arg(argc, argv, 1, 3);
	if (threads < 1 || threads > MAX_THREADS)
		target_bad("threads: 1 to %d", MAX_THREADS);
	long signals = target_arg(argc, argv, 2, 1);
	have_avx = __builtin_cpu_supports("avx");
	memset(&sa, 0, sizeof sa);
	sa.sa_handler = on_signal;
	sa.sa_flags = SA_RESTART | SA_ONSTACK;
	sigaction(SIGRTMIN + 1, &sa, NULL);
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, checker, &rounds[i]);
	if (signals)
		pthread_create(&sender, NULL, storm, NULL);
	target_wait_stop();
	on = 0;
	uint64_t sum = 0;
	for (int i = 0; i < threads; i++) {
		pthread_join(t[i], NULL);
		sum += rounds[i];
	}
	if (signals)
		pthread_join(sender, NULL);
	if (signals_sent != __atomic_load_n(&signals_seen, __ATOMIC_RELAXED))
		target_bad("%llu signals sent, %llu seen", (unsigned long long)signals_sent,
			   (unsigned long long)signals_seen);
	if (leaf_calls == 0)
		target_bad("the leaves were never called");
	target_count("rounds", sum);
	target_count("on_signal", signals_seen);
	return target_finish(target_mix(6, 6));
}
