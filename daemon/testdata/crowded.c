/* A program around whose code no memory is free, or around that of its libraries.
 * crowded [program|libraries]. It says TAKEN <MiB>. */
#include "crowd.h"
#include <dlfcn.h>

enum { LEFT = 1 << 20 };
extern char __executable_start, etext;

NOINLINE uint64_t work(uint64_t x)
{
	return target_mix(x, 31);
}

int main(int argc, char **argv)
{
	uint64_t n = 0, hash = work(1);
	uintptr_t libc = (uintptr_t)dlsym(RTLD_DEFAULT, "getppid");
	target_start();
	if (argc > 1 && strcmp(argv[1], "libraries") == 0)
		printf("TAKEN %lu\n", crowd(libc & ~0xffful, libc + (4 << 20), LEFT));
	else
		printf("TAKEN %lu\n", crowd((uintptr_t)&__executable_start, (uintptr_t)&etext, LEFT));
	for (; target_running(); n++) {
		if (work(1) != hash)
			target_bad("hash differs");
		target_sleep_us(100);
	}
	target_count("work", n);
	return target_finish(hash);
}
