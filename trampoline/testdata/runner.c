/* Runs machine code that a test has made, and reports registers and memory afterwards.
 *
 * First it writes the thread pointer (%fs:0). Then for each request: 4 words (length of text, length of data, entry, stubs),
 * 16 registers in the processor's order (rsp is not used), text, for each stub its address and 8 bytes of code, data.
 * Answer: 16 registers, data. Text lies at TEXT, stubs behind it, data at DATA, the stack below STACK. The last page of the room
 * for data and the first bytes above the stack hold a pattern. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TEXT 0x10000000ul
#define DATA 0x20000000ul
#define STACK 0x30010000ul
#define SIZE (1ul << 20)
#define REACH (64ul << 20) /* of text and stubs */

__asm__(".bss\n .lcomm entry, 8\n .lcomm in, 8\n .lcomm out, 8\n .lcomm kept, 8\n .lcomm result, 8\n .text\n"
	".globl run\n run:\n"
	" push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
	" mov %rdi, entry(%rip)\n mov %rsi, in(%rip)\n mov %rdx, out(%rip)\n mov %rsp, kept(%rip)\n mov %rcx, %rsp\n"
	" mov in(%rip), %rax\n"
	" mov 8(%rax), %rcx\n mov 16(%rax), %rdx\n mov 24(%rax), %rbx\n mov 40(%rax), %rbp\n mov 48(%rax), %rsi\n mov 56(%rax), %rdi\n"
	" mov 64(%rax), %r8\n mov 72(%rax), %r9\n mov 80(%rax), %r10\n mov 88(%rax), %r11\n"
	" mov 96(%rax), %r12\n mov 104(%rax), %r13\n mov 112(%rax), %r14\n mov 120(%rax), %r15\n mov (%rax), %rax\n"
	" call *entry(%rip)\n"
	" mov %rax, result(%rip)\n mov out(%rip), %rax\n"
	" mov %rcx, 8(%rax)\n mov %rdx, 16(%rax)\n mov %rbx, 24(%rax)\n mov %rsp, 32(%rax)\n mov %rbp, 40(%rax)\n mov %rsi, 48(%rax)\n mov %rdi, 56(%rax)\n"
	" mov %r8, 64(%rax)\n mov %r9, 72(%rax)\n mov %r10, 80(%rax)\n mov %r11, 88(%rax)\n"
	" mov %r12, 96(%rax)\n mov %r13, 104(%rax)\n mov %r14, 112(%rax)\n mov %r15, 120(%rax)\n"
	" mov result(%rip), %rcx\n mov %rcx, (%rax)\n"
	" mov kept(%rip), %rsp\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n ret\n");
void run(uint64_t entry, const uint64_t *in, uint64_t *out, uint64_t stack);

static void take(void *p, size_t n)
{
	for (char *at = p; n > 0;) {
		ssize_t k = read(0, at, n);
		if (k <= 0)
			exit(k < 0);
		at += k;
		n -= (size_t)k;
	}
}

static void give(const void *p, size_t n)
{
	for (const char *at = p; n > 0;) {
		ssize_t k = write(1, at, n);
		if (k <= 0)
			exit(1);
		at += k;
		n -= (size_t)k;
	}
}

static void *map(uintptr_t at, size_t size, int prot)
{
	void *p = mmap((void *)at, size, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (p != (void *)at)
		exit(2);
	return p;
}

static void fill(uint64_t at, uint64_t n)
{
	for (; n > 0; n--, at++)
		*(uint8_t *)at = (uint8_t)(at * 37 + (at >> 8) * 101 + 11);
}

/* Code that goes astray must not come across a system call that harms anybody else. */
static void confine(void)
{
#define ALLOW(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_read),
		ALLOW(SYS_write),
		ALLOW(SYS_clock_gettime),
		ALLOW(SYS_gettid),
		ALLOW(SYS_process_vm_readv),
		ALLOW(SYS_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		exit(4);
}

static void take_stubs(uint64_t n)
{
	uint64_t at;
	for (; n > 0; n--) {
		take(&at, sizeof at);
		if (at < TEXT + SIZE || at > TEXT + REACH - 8)
			exit(3);
		take((void *)at, 8);
	}
}

int main(void)
{
	uint64_t head[4], in[16], out[16], self;
	void *text = map(TEXT, REACH, PROT_READ | PROT_WRITE | PROT_EXEC), *data = map(DATA, SIZE, PROT_READ | PROT_WRITE);
	map(STACK & ~(SIZE - 1), SIZE, PROT_READ | PROT_WRITE);
	fill(DATA + SIZE - 4096, 4096);
	fill(STACK, 256);
	confine();
	__asm__("mov %%fs:0, %0" : "=r"(self));
	give(&self, sizeof self);
	for (;;) {
		take(head, sizeof head);
		if (head[0] > SIZE || head[1] > SIZE)
			exit(3);
		take(in, sizeof in);
		take(text, head[0]);
		take_stubs(head[3]);
		take(data, head[1]);
		run(head[2], in, out, STACK);
		give(out, sizeof out);
		give(data, head[1]);
	}
}
