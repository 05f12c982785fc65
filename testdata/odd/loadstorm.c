/* Threads that load, call and unload objects as fast as they can; each its own, and one that all have.
 * loadstorm PATH-OF-PLUGIN PATH-OF-ANOTHER */
#include "target.h"
#include <dlfcn.h>
#include <pthread.h>

#define THREADS 3

static const char *paths[2];
static uint64_t loads[THREADS], hashes[THREADS];

NOINLINE uint64_t load_and_work(const char *path, uint64_t h)
{
	uint64_t (*work)(uint64_t);
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		target_bad("dlopen: %s", dlerror());
	*(void **)&work = dlsym(handle, "plugin_work");
	if (!work)
		target_bad("dlsym: %s", dlerror());
	for (int i = 0; i < 20; i++)
		h = work(h);
	if (dlclose(handle) != 0)
		target_bad("dlclose: %s", dlerror());
	return h;
}

static void *storm(void *arg)
{
	long i = (long)(intptr_t)arg;
	while (!target_stopping) {
		uint64_t h = load_and_work(paths[i % 2], 1);
		if (hashes[i] && h != hashes[i])
			target_bad("thread %ld: another result", i);
		hashes[i] = h;
		loads[i]++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	uint64_t all = 0;
	target_start();
	if (argc < 3)
		target_bad("usage: loadstorm PATH-OF-PLUGIN PATH-OF-ANOTHER");
	paths[0] = argv[1];
	paths[1] = argv[2];
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, storm, (void *)(intptr_t)i) != 0)
			target_bad("pthread_create");
	target_wait_stop();
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		all += loads[i];
		if (loads[i] == 0 || hashes[i] != hashes[0])
			target_bad("thread %d: %llu loads, another result than the first's", i, (unsigned long long)loads[i]);
	}
	target_count("dlopen", all);
	return target_finish(hashes[0]);
}
