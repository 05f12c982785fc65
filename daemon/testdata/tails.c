/* Functions that end with jumps to others, which return in their place, and copies of functions that have other arguments than the source.
   The program counts itself what probes have to count. */
#include "target.h"
#include <sched.h>

#define NOINLINE __attribute__((noinline))
#define KEEP __asm__ volatile("" : : : "memory")

NOINLINE int leaf(int v) { KEEP; return v - 5; }
NOINLINE int other(int v) { KEEP; return v - 7; }
NOINLINE int wrap(int v) { KEEP; if (v == 3) return 100; return leaf(v * 2); }
NOINLINE int only(int v) { KEEP; return v & 1 ? leaf(v) : other(v); }
NOINLINE int through(int (*f)(int), int v) { KEEP; return f(v); }
NOINLINE int yields(void) { KEEP; return sched_yield(); }
NOINLINE int itself(int n, int sum) { KEEP; if (n <= 0) return sum + 3; return itself(n - 1, sum + n); }
static NOINLINE int moved(int unneeded, int x) { KEEP; return x * 2; }

int main(int argc, char **argv)
{
	target_start();
	int rounds = target_arg(argc, argv, 1, 1000);
	int (*volatile f)(int) = leaf;
	target_wait_go();
	long wraps = 0, calls = 0, leaves = 0, selves = 0, xs = 0;
	for (int n = 0; n < rounds; n++) {
		int v = n % 7;
		wraps += wrap(v);
		leaves += v == 3 ? 0 : v * 2 - 5;
		leaves += only(n | 1) + through(f, v);
		selves += itself(n % 4, 0);
		moved(n, v);
		yields();
		xs += v;
		calls++;
	}
	target_count("wraps", wraps);
	target_count("calls", calls);
	target_count("leaves", leaves);
	target_count("selves", selves);
	target_count("xs", xs);
	printf("DONE\n");
	if (target_stdin_open)
		target_wait_stop();
	return target_finish((unsigned long)(wraps + leaves + selves + xs));
}
