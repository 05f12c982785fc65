/* Functions that end with a jump into the C library and wait there; the library's function is called otherwise as well. */
#include "target.h"
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define KEEP __asm__ volatile("" : : : "memory")

NOINLINE int nap(void) { KEEP; return usleep(2000); }
NOINLINE int naps(int n) { KEEP; if (n == 3) return 1; return nap(); } /* over another function */

static long now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int main(int argc, char **argv)
{
	target_start();
	int rounds = target_arg(argc, argv, 1, 100);
	target_wait_go();
	long in_nap = 0, in_naps = 0, sum = 0;
	for (int n = 0; n < rounds; n++) {
		long at = now_us();
		sum += nap();
		in_nap += now_us() - at;
		at = now_us();
		sum += naps(n % 4);
		in_naps += now_us() - at;
		usleep(3000);
	}
	target_count("nap", in_nap + in_naps);
	target_count("naps", in_naps);
	printf("DONE\n");
	if (target_stdin_open)
		target_wait_stop();
	return target_finish((unsigned long)(sum + rounds));
}
