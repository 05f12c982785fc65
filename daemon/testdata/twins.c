/* Loads two libraries in turns, calls each, unloads it; the second mostly gets the address of the first.
 * twins PATH PATH */
#include "target.h"
#include <dlfcn.h>

int main(int argc, char **argv)
{
	target_start();
	if (argc < 3)
		target_bad("usage: twins PATH PATH");
	uint64_t loads = 0, same = 0, hash[2] = {0, 0};
	void *last = NULL;
	for (int turn = 0; target_running() || !hash[1]; turn ^= 1) {
		void *handle = dlopen(argv[1 + turn], RTLD_NOW | RTLD_LOCAL);
		if (!handle)
			target_bad("dlopen: %s", dlerror());
		uint64_t (*work)(uint64_t);
		*(void **)&work = dlsym(handle, "twin_work");
		Dl_info where;
		if (!work || !dladdr((void *)work, &where))
			target_bad("dlsym: %s", dlerror());
		same += where.dli_fbase == last;
		last = where.dli_fbase;
		loads++;
		for (int i = 0; i < 60; i++) {
			uint64_t h = work(1);
			if (hash[turn] && h != hash[turn])
				target_bad("hash of twin %d differs", turn + 1);
			hash[turn] = h;
			if (i % 20 == 0)
				target_sleep_us(300);
		}
		if (dlclose(handle) != 0)
			target_bad("dlclose: %s", dlerror());
	}
	target_count("loads", loads);
	target_count("at_the_same_address", same);
	return target_finish(target_mix(hash[0], hash[1]));
}
