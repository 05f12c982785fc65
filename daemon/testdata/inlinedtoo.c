/* Functions that have code of their own and are inlined besides. */
#include "target.h"

#define KEEP __asm__ volatile("" : : : "memory")

long twos, mixes;
int twice(int x) { KEEP; twos++; return x * 2; }
static inline __attribute__((always_inline)) int both(int x) { KEEP; mixes++; return x + 1; }
__attribute__((noinline)) int never(int x) { KEEP; return x * x - x * 1000 + 17; }
int (*volatile pointed)(int) = both;

int main(void)
{
	target_start();
	target_wait_go();
	long sum = 0;
	for (int n = 0; n < 100; n++) {
		sum += twice(n) + both(n) + never(n);
		if (n % 4 == 0)
			sum += pointed(n);
	}
	sum += twice(7);
	target_count("twos", twos);
	target_count("mixes", mixes);
	printf("DONE\n");
	if (target_stdin_open)
		target_wait_stop();
	return target_finish((unsigned long)sum);
}
