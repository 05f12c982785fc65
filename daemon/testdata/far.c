/* Loads a library far from everything else: memory that it has reserved before takes the addresses in between.
 * far PATH-OF-PLUGIN. Line "load" loads it, and it is called from then on; "crowd" does so and takes all memory around it. */
#include "crowd.h"
#include <dlfcn.h>

static const char *path;
static uint64_t (*work)(uint64_t);

static void command(const char *line)
{
	int crowded = strcmp(line, "crowd") == 0;
	if ((strcmp(line, "load") != 0 && !crowded) || work)
		return;
	if (mmap(NULL, 5ul << 30, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
		target_bad("mmap: %s", strerror(errno));
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		target_bad("dlopen: %s", dlerror());
	*(void **)&work = dlsym(handle, "plugin_work");
	if (crowded)
		crowd((uintptr_t)work & ~0xffful, (uintptr_t)work + (1 << 20), 1 << 20);
	int64_t distance = (int64_t)((char *)work - (char *)&getppid);
	printf("LOADED %lld MiB away\n", (long long)(distance < 0 ? -distance : distance) >> 20);
}

int main(int argc, char **argv)
{
	target_start();
	if (argc < 2)
		target_bad("usage: far PATH-OF-PLUGIN");
	path = argv[1];
	target_command = command;
	uint64_t hash = 0, calls = 0;
	while (target_running()) {
		for (int i = 0; work && i < 10; i++, calls++) {
			uint64_t h = work(1);
			if (hash && h != hash)
				target_bad("hash differs");
			hash = h;
		}
		target_sleep_us(300);
	}
	target_count("plugin_work", calls);
	return target_finish(hash);
}
