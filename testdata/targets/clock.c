/* Reads the clock all the time: it is nearly always in the kernel's code for that, the vdso, which has no file. */
#include "target.h"

NOINLINE uint64_t read_clocks(void)
{
	uint64_t last = 0, n = 0;
	for (int i = 0; i < 20000; i++) {
		uint64_t now = target_now_ns();
		if (now < last)
			target_bad("the clock went back");
		last = now;
		n++;
	}
	return n;
}

int main(void)
{
	uint64_t n = 0;
	target_start();
	target_wait_go();
	while (target_running())
		n += read_clocks();
	target_count("clocks", n);
	return target_finish(n > 0);
}
