/* Functions that return and take numbers of every size and sign. The program counts itself what probes have to count. Some functions leave in
   the upper part of the register what the ABI lets them leave there. */
#include "target.h"
#include <stdbool.h>

#define NOINLINE __attribute__((noinline, noclone))

NOINLINE int gives_int(int n) { return n % 3 - 1; }
NOINLINE unsigned gives_unsigned(int n) { return n % 3 - 1; }
NOINLINE short gives_short(int n) { return (short)(n * 7 - 3000); }
NOINLINE long gives_long(int n) { return n % 5 - 2L; }
NOINLINE double gives_double(int n) { return n - 1.5; }
NOINLINE void gives_nothing(int n) { __asm__ volatile("" : : "r"(n)); }
NOINLINE int takes(int n, double by, signed char c) { __asm__ volatile("" : : "r"(n), "x"(by), "r"((int)c)); return n < 0; }

/* Only the lowest bits of these are what they return. */
bool gives_bool(int n);
char gives_char(int n);
int gives_dirty(int n);
__attribute__((naked)) bool gives_bool(MAYBE_UNUSED int n) { __asm__("mov %edi, %eax; and $1, %eax; or $0x5a00, %eax; ret"); }
__attribute__((naked)) char gives_char(MAYBE_UNUSED int n) { __asm__("lea -2(%rdi), %eax; and $0xff, %eax; or $0x1100, %eax; ret"); }
__attribute__((naked)) int gives_dirty(MAYBE_UNUSED int n)
{
	__asm__("movabs $0x1122334400000000, %rax; mov %edi, %ecx; neg %ecx; mov %ecx, %ecx; or %rcx, %rax; ret");
}

int main(int argc, char **argv)
{
	target_start();
	int rounds = target_arg(argc, argv, 1, 2500);
	target_wait_go();
	long below = 0, all_ones = 0, sum = 0, shorts = 0, longs = 0, bools = 0, chars = 0, dirty = 0, taken = 0, small = 0, letters = 0;
	double other = 0;
	for (int n = 0; n < rounds; n++) {
		int v = gives_int(n), c = n % 7 - 3;
		below += v < 0;
		all_ones += v == -1;
		sum += v < 0 ? 7 : v;
		small += gives_unsigned(n) < 0x80000000u;
		shorts += gives_short(n) < 0;
		longs += gives_long(n) < 0;
		bools += gives_bool(n);
		chars += gives_char(n) < 0;
		dirty += gives_dirty(n) == -n;
		other += gives_double(n);
		gives_nothing(n);
		taken += takes(n % 3 - 1, other, (signed char)c);
		letters += c < 0;
	}
	target_count("below", below);
	target_count("all_ones", all_ones);
	target_count("sum", sum);
	target_count("small", small);
	target_count("shorts", shorts);
	target_count("longs", longs);
	target_count("bools", bools);
	target_count("chars", chars);
	target_count("dirty", dirty);
	target_count("taken", taken);
	target_count("letters", letters);
	target_count("negative", below + shorts + longs);
	printf("DONE\n");
	if (target_stdin_open)
		target_wait_stop();
	return target_finish((unsigned long)(below + sum + shorts));
}
