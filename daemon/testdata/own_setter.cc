/* The program has a function of its own that is called as one of the unwinder, which is linked in: its argument is a number. */
#include "target.h"

static volatile long sum;

extern "C" {
static NOINLINE long _Unwind_SetIP(long n) { sum = sum + n; __asm__ volatile("" : : : "memory"); return sum; }
NOINLINE long caller(long n) { long r = _Unwind_SetIP(n & 15); __asm__ volatile("" : : : "memory"); return r + n; }
}

int main(int argc, char **argv)
{
	target_start();
	int rounds = target_arg(argc, argv, 1, 100000);
	target_wait_go();
	try {
		throw rounds;
	} catch (int n) {
		for (long i = 0; i < n; i++)
			caller(i);
	}
	target_count("rounds", rounds);
	printf("DONE\n");
	if (target_stdin_open)
		target_wait_stop();
	return target_finish((unsigned long)sum);
}
