/* Loads a library of Go code, whose goroutines work in threads of their own, and calls small functions meanwhile. Argument 1: the library. */
#include "target.h"
#include <dlfcn.h>

NOINLINE static uint64_t small(uint64_t a, uint64_t b) { return (a ^ (a >> 7)) * 5 + b; }

int main(int argc, char **argv)
{
	void *library;
	void (*begin)(void);
	uint64_t (*done)(void), (*unit)(void), hash = 1;
	volatile uint64_t turns = 0;

	target_start();
	library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	if (!library)
		target_bad("no library: %s", argc > 1 ? dlerror() : "none named");
	begin = (void (*)(void))dlsym(library, "goBegin");
	done = (uint64_t(*)(void))dlsym(library, "goDone");
	unit = (uint64_t(*)(void))dlsym(library, "goUnit");
	begin();
	while (target_running()) {
		for (int i = 0; i < 1000; i++)
			hash = small(hash, turns);
		turns++;
		target_sleep_us(1000);
	}
	if (done() == 0)
		target_bad("the library's work came out wrong");
	return target_finish(unit());
}
