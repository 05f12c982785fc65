/* Executes pairs of machine code, an instruction and its moved copy, from the same state, and reports what became of each.
 *
 * Descriptor 3 is memory that is shared with the test: SLOTS cases, laid out as struct slot says. First the program writes what
 * it knows of the extended state (struct hello; the state itself lies in the first slot's first result). Then for each request,
 * a word that says how many cases there are, it runs both of each and answers with that word.
 *
 * The kernel loads and stores the states: all that code does not cover is int3, so that every run ends in a signal, whose frame
 * holds every register, and returning from its handler begins the next run. Nothing of ours is executed in between. */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <cpuid.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define ORIG 0x10000000ul
#define COPY 0x23456000ul
#define DATA 0x30000000ul
#define PAGE 4096
#define START 1024 /* in the page; a short branch stays inside it */
#define DATA_SIZE (2 * PAGE)
#define BASES (DATA + DATA_SIZE / 2) /* of fs and gs */
#define SLOTS 64
#define XSTATE 3584

struct result {
	uint64_t reg[16]; /* in the processor's order */
	uint64_t flags, rip, signal, code, address, selectors, fs, gs;
	uint64_t unused[40];
	uint8_t xstate[XSTATE];
	uint8_t data[DATA_SIZE];
};

struct slot {
	uint64_t reg[16], flags;
	uint8_t code[2][32]; /* original, copy; int3 behind them */
	uint64_t unused[39];
	uint8_t xstate[XSTATE];
	uint8_t data[DATA_SIZE];
	struct result result[2];
};

struct hello {
	uint64_t features, size, offset[8], length[8];
};

static struct slot *slots;
static struct hello hello;
static volatile uint64_t cases, run;
static gregset_t home; /* where the runs began */
static uint8_t home_xstate[XSTATE];

static const int order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
	REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

static long call2(long nr, long a, long b)
{
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(a), "S"(b) : "rcx", "r11", "memory");
	return r;
}

static uint64_t selectors(void)
{
	uint16_t ds, es, fs, gs;
	__asm__ volatile("mov %%ds, %0; mov %%es, %1; mov %%fs, %2; mov %%gs, %3" : "=r"(ds), "=r"(es), "=r"(fs), "=r"(gs));
	return (uint64_t)ds | (uint64_t)es << 16 | (uint64_t)fs << 32 | (uint64_t)gs << 48;
}

static void clear_selectors(void)
{
	__asm__ volatile("mov %0, %%ds; mov %0, %%es; mov %0, %%fs; mov %0, %%gs" ::"r"(0));
}

static void record(struct result *r, siginfo_t *info, mcontext_t *m)
{
	for (int i = 0; i < 16; i++)
		r->reg[i] = (uint64_t)m->gregs[order[i]];
	r->flags = (uint64_t)m->gregs[REG_EFL];
	r->rip = (uint64_t)m->gregs[REG_RIP];
	r->signal = (uint64_t)info->si_signo;
	r->code = (uint64_t)info->si_code;
	r->address = (uint64_t)info->si_addr;
	r->selectors = selectors();
	call2(SYS_arch_prctl, ARCH_GET_FS, (long)&r->fs);
	call2(SYS_arch_prctl, ARCH_GET_GS, (long)&r->gs);
	memcpy(r->xstate, m->fpregs, hello.size);
	memcpy(r->data, (void *)DATA, DATA_SIZE);
}

static void load(const struct slot *s, int twin, mcontext_t *m)
{
	uint8_t *page = (uint8_t *)(twin ? COPY : ORIG);
	memset((void *)ORIG, 0xCC, PAGE);
	memset((void *)COPY, 0xCC, PAGE);
	memcpy(page + START, s->code[twin], sizeof s->code[twin]);
	memcpy((void *)DATA, s->data, DATA_SIZE);
	for (int i = 0; i < 16; i++)
		m->gregs[order[i]] = (greg_t)s->reg[i];
	m->gregs[REG_EFL] = (greg_t)s->flags;
	m->gregs[REG_RIP] = (greg_t)(page + START);
	m->gregs[REG_CSGSFS] = home[REG_CSGSFS];
	memcpy(m->fpregs, s->xstate, hello.size);
}

static void begin(mcontext_t *m)
{
	const uint8_t *sw = (const uint8_t *)m->fpregs + 464; /* struct _fpx_sw_bytes: magic, whole size, features, size */
	memcpy(home, m->gregs, sizeof home);
	memcpy(&hello.features, sw + 8, 8);
	hello.size = 0;
	memcpy(&hello.size, sw + 16, 4);
	if (hello.size > XSTATE)
		_exit(5);
	memcpy(home_xstate, m->fpregs, hello.size);
}

static void end(mcontext_t *m)
{
	memcpy(m->gregs, home, sizeof home);
	memcpy(m->fpregs, home_xstate, hello.size);
}

/* Run number 0 is the int3 of main, 2k+1 the original and 2k+2 the copy of case k. */
static void on_signal(int nr, siginfo_t *info, void *context)
{
	static long fs, gs;
	mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
	uint64_t r = run++;

	(void)nr;
	__asm__ volatile("pushq $0x202; popfq" ::: "cc", "memory"); /* NT and ID are not the frame's business */
	if (r == 0) {
		begin(m);
		call2(SYS_arch_prctl, ARCH_GET_FS, (long)&fs);
		call2(SYS_arch_prctl, ARCH_GET_GS, (long)&gs);
	} else {
		record(&slots[(r - 1) / 2].result[(r - 1) % 2], info, m);
	}
	clear_selectors();
	if (r == 2 * cases) {
		call2(SYS_arch_prctl, ARCH_SET_FS, fs);
		call2(SYS_arch_prctl, ARCH_SET_GS, gs);
		end(m);
		return;
	}
	load(&slots[r / 2], (int)(r % 2), m);
	call2(SYS_arch_prctl, ARCH_SET_FS, (long)BASES);
	call2(SYS_arch_prctl, ARCH_SET_GS, (long)BASES);
}

static void map(uintptr_t at, size_t size, int prot)
{
	if (mmap((void *)at, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != (void *)at)
		_exit(2);
}

static void handle(void)
{
	static const int signals[] = {SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
	static uint8_t stack[1 << 16] __attribute__((aligned(64)));
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	if (sigaltstack(&alternate, NULL) != 0)
		_exit(3);
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		if (sigaction(signals[i], &action, NULL) != 0)
			_exit(3);
}

/* Code that goes astray must not come across a system call that harms anybody else. */
static void confine(void)
{
#define ALLOW(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_arch_prctl),
		ALLOW(SYS_rt_sigreturn),
		ALLOW(SYS_read),
		ALLOW(SYS_write),
		ALLOW(SYS_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		_exit(4);
}

static void describe(void)
{
	cases = 0;
	run = 0;
	__asm__ volatile("int3" ::: "memory");
	memcpy(slots[0].result[0].xstate, home_xstate, hello.size);
	for (unsigned i = 2; i < 8; i++) {
		unsigned size, offset, c, d;
		if (__get_cpuid_count(0xD, i, &size, &offset, &c, &d)) {
			hello.offset[i] = offset;
			hello.length[i] = size;
		}
	}
	if (write(1, &hello, sizeof hello) != sizeof hello)
		_exit(1);
}

int main(void)
{
	uint64_t n;
	map(ORIG, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	map(COPY, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	map(DATA, DATA_SIZE, PROT_READ | PROT_WRITE);
	slots = mmap(NULL, SLOTS * sizeof *slots, PROT_READ | PROT_WRITE, MAP_SHARED, 3, 0);
	if (slots == MAP_FAILED)
		_exit(2);
	handle();
	confine();
	describe();
	while (read(0, &n, sizeof n) == sizeof n && n <= SLOTS) {
		cases = n;
		run = 0;
		__asm__ volatile("int3" ::: "memory");
		if (write(1, &n, sizeof n) != sizeof n)
			_exit(1);
	}
	return 0;
}
