/* Functions of assembly that pass each other what compilers never do: a flag to a function and from one, also across a tail jump, and a value
 * below the stack pointer. All results must be right. */
#include "target.h"

#define FUNCTION(name, body) ".balign 16\n\t.globl " name "\n\t.type " name ", @function\n" name ":\t" body "\n\t.size " name ", . - " name "\n"

__asm__(".pushsection .text\n"
	FUNCTION("flag_in", "sbb %rax, %rax\n\tneg %rax\n\tlea (%rax,%rdi,2), %rax\n\tret")
	FUNCTION("flag_out", "mov %rdi, %rax\n\tnopl 0(%rax)\n\tbt $0, %rdi\n\tret")
	FUNCTION("flag_on", "mov %rdi, %rax\n\tnopl 0(%rax)\n\tcmp %rsi, %rdi\n\tjmp flag_end")
	FUNCTION("flag_end", "mov $0, %eax\n\tsetb %al\n\tlea (%rax,%rdi,2), %rax\n\tret")
	FUNCTION("flag_far", "mov %rdi, %rax\n\t.rept 20\n\tlea 1(%rax), %rax\n\t.endr\n\tadc $0, %rax\n\tret")
	FUNCTION("flag_farther", "mov %rdi, %rax\n\t.rept 60\n\tlea 1(%rax), %rax\n\t.endr\n\tadc $0, %rax\n\tret")
	FUNCTION("below_on", "mov %rdi, -8(%rsp)\n\tmov %rsi, -64(%rsp)\n\tlea 1(%rdi), %rdi\n\tjmp below_end")
	FUNCTION("below_end", "mov -8(%rsp), %rax\n\tadd -64(%rsp), %rax\n\tadd %rdi, %rax\n\tret")
	FUNCTION("all", "push %rbx\n\tpush %r12\n\tmov %rdi, %rbx\n\txor %r12d, %r12d\n\t"
		"bt $1, %rdi\n\tcall flag_in\n\tadd %rax, %r12\n\t"
		"mov %rbx, %rdi\n\tcall flag_out\n\tadc %rax, %r12\n\t"
		"mov %rbx, %rdi\n\tmov $100, %esi\n\tcall flag_on\n\tadd %rax, %r12\n\t"
		"bt $0, %rbx\n\tcall flag_far\n\tadd %rax, %r12\n\tbt $0, %rbx\n\tcall flag_farther\n\tadd %rax, %r12\n\t"
		"mov %rbx, %rdi\n\tmov $7, %esi\n\tcall below_on\n\tlea (%rax,%r12), %rax\n\tpop %r12\n\tpop %rbx\n\tret")
	".popsection\n");

uint64_t all(uint64_t n);

NOINLINE static uint64_t round_of(uint64_t h)
{
	for (uint64_t n = 0; n < 200; n++) {
		uint64_t is = all(n), want = (2 * n + (n >> 1 & 1)) + (n + (n & 1)) + (2 * n + (n < 100)) + 2 * (n + (n & 1)) + 80 + (2 * n + 8);
		if (is != want)
			target_bad("all(%lu) is %lu and not %lu", n, is, want);
		h = target_mix(h, is);
	}
	return h;
}

int main(void)
{
	target_start();
	while (target_running())
		round_of(1);
	return target_finish(round_of(1));
}
