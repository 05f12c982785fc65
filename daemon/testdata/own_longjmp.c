/* The program has a function of its own that is called longjmp: its argument is a number. */
#include "target.h"

static volatile long sum;

static NOINLINE long longjmp(long n) { sum += n; __asm__ volatile("" : : : "memory"); return sum; }
NOINLINE long caller(long n) { long r = longjmp(n & 15); __asm__ volatile("" : : : "memory"); return r + n; }

int main(int argc, char **argv)
{
	target_start();
	int rounds = target_arg(argc, argv, 1, 100000);
	target_wait_go();
	for (long n = 0; n < rounds; n++)
		caller(n);
	target_count("rounds", rounds);
	printf("DONE\n");
	if (target_stdin_open)
		target_wait_stop();
	return target_finish((unsigned long)sum);
}
