/* Has a function that begins three bytes before the end of a page, and drops its own copy of the next page of code all the time: the bytes of the
 * file are there again then. */
#include "target.h"
#include <sys/mman.h>

uint64_t edge(uint64_t x);
__asm__(".pushsection .text\n"
	".balign 4096\n"
	".skip 4096 - 3, 0xf4\n" /* not what compilers pad with: no jump finds room there */
	".globl edge\n"
	".type edge, @function\n"
	"edge:\n"
	"mov %rdi, %rax\n"
	"add $7, %rax\n"
	"lea 1(%rax, %rax, 2), %rax\n"
	"xor $5, %rax\n"
	"lea 3(%rax, %rax, 4), %rax\n"
	"xor $9, %rax\n"
	"xor %rdi, %rax\n"
	"ret\n"
	".size edge, . - edge\n"
	".balign 4096, 0xf4\n"
	".popsection\n");

static uint64_t (*volatile at)(uint64_t) = edge; /* so that no instruction names an address behind it */

int main(void)
{
	char *next = (char *)(((uint64_t)at | 4095) + 1);
	uint64_t turns = 0;

	target_start();
	while (target_running()) {
		for (uint64_t x = 0; x < 20000; x++)
			if (edge(x) != ((((((x + 7) * 3 + 1) ^ 5) * 5 + 3) ^ 9) ^ x))
				target_bad("the function returns another value");
		if (turns++ % 16 == 0 && madvise(next, 4096, MADV_DONTNEED) != 0)
			target_bad("madvise: %s", strerror(errno));
	}
	return target_finish(1);
}
