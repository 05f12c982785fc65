/* Functions of assembly that lead into the middle of instructions, as C libraries of old did over a lock prefix, that are entered behind
 * their first instruction by an address that is computed, and that read their own code as a constant. All results must be right. */
#include "target.h"

#define FUNCTION(name, body) ".balign 16\n\t.globl " name "\n\t.type " name ", @function\n" name ":\t" body "\n\t.size " name ", . - " name "\n"

#ifdef __PIC__
#define HERE "(%rip)"
#else
#define HERE "" /* an absolute address */
#endif

__asm__(".pushsection .text\n"
	FUNCTION("over_lock", "cmpl $0, alone(%rip)\n\tje 1f\n\tlock\n1:\taddl $1, (%rdi)\n\tmov (%rdi), %eax\n\tret")
	/* eb ff is a jump to its own second byte: inc %eax */
	FUNCTION("into_itself", "xor %eax, %eax\n\t.byte 0xeb, 0xff, 0xc0\n\tlea 1(%rax,%rdi), %eax\n\tret")
	/* from the last byte of a mov on, it and the next mov are an add and a nop; both ways meet behind them */
	FUNCTION("two_ways", "test $1, %edi\n\tmov $0, %eax\n\tjnz 1f\n\t"
		".byte 0xb8, 0x90, 0x90, 0x90\n1:\t.byte 0x05\n\tmov $0x90c3f889, %eax\n\tmov %edi, %eax\n\tret")
	FUNCTION("two_entries", ".byte 0x66, 0x90\n\tmov %edi, %eax\n\tadd $5, %eax\n\tret")
	FUNCTION("by_the_other", "lea two_entries(%rip), %rdx\n\tadd $2, %rdx\n\tsub $8, %rsp\n\tcall *%rdx\n\tadd $8, %rsp\n\tret")
	FUNCTION("reads_itself", "mov $0x12345678, %eax\n\txor reads_itself+1" HERE ", %eax\n\tadd %edi, %eax\n\tret")
	FUNCTION("reads_behind", "mov reads_behind_constant(%rip), %eax\n\tadd %edi, %eax\n\tret")
	".balign 4\nreads_behind_constant: .long 0x1234\n"
	".popsection\n");

uint32_t alone;
uint32_t over_lock(uint32_t *n), into_itself(uint32_t n), two_ways(uint32_t n), two_entries(uint32_t n), by_the_other(uint32_t n), reads_itself(uint32_t n), reads_behind(uint32_t n);

static void check(const char *name, uint32_t is, uint32_t want)
{
	if (is != want)
		target_bad("%s: %u and not %u", name, is, want);
}

NOINLINE static uint64_t round_of(uint64_t h)
{
	uint32_t sum = 0;
	for (uint32_t n = 0; n < 200; n++) {
		alone = n & 1;
		check("over_lock", over_lock(&sum), n + 1);
		check("into_itself", into_itself(n), n + 2);
		check("two_ways", two_ways(n), n);
		check("two_entries", two_entries(n), n + 5);
		check("by_the_other", by_the_other(n), n + 5);
		check("reads_itself", reads_itself(n), n);
		check("reads_behind", reads_behind(n), n + 0x1234);
		h = target_mix(h, sum);
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
