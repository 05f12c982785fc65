/* Loads a library at line "load" and calls it from line "call" on; what it does itself goes on meanwhile. At "open" it opens a file,
 * and writes to it from "write" on. At "rest" it stops all that and prints how often it did it.
 * late PATH-OF-PLUGIN PATH-OF-FILE */
#include "target.h"
#include <dlfcn.h>
#include <fcntl.h>

static const char *plugin, *file;
static uint64_t (*work)(uint64_t);
static volatile int calling, writing, resting;
static int fd = -1;
static uint64_t steps, works, writes;

static void command(const char *line)
{
	if (strcmp(line, "load") == 0) {
		void *handle = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
		if (!handle)
			target_bad("dlopen: %s", dlerror());
		*(void **)&work = dlsym(handle, "plugin_work");
		printf("LOADED\n");
	}
	if (strcmp(line, "call") == 0)
		calling = 1;
	if (strcmp(line, "open") == 0) {
		if ((fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) < 0)
			target_bad("%s: %s", file, strerror(errno));
		printf("OPENED %d\n", fd);
	}
	if (strcmp(line, "write") == 0)
		writing = 1;
	if (strcmp(line, "rest") == 0) {
		resting = 1;
		target_count("step", steps);
		target_count("plugin_work", works);
		target_count("put", writes);
		printf("DONE\n");
	}
}

NOINLINE uint64_t step(uint64_t x)
{
	steps++;
	return target_mix(x, steps);
}

NOINLINE void put(int n)
{
	if (write(fd, &n, sizeof n) != sizeof n)
		target_bad("write: %s", strerror(errno));
	writes++;
}

int main(int argc, char **argv)
{
	target_start();
	if (argc < 3)
		target_bad("usage: late PATH-OF-PLUGIN PATH-OF-FILE");
	plugin = argv[1], file = argv[2];
	target_command = command;
	uint64_t x = 1;
	while (target_running()) {
		for (int i = 0; target_going && !resting && i < 200; i++)
			x = step(x);
		for (int i = 0; calling && !resting && i < 20; i++, works++)
			x = work(x);
		if (writing && !resting)
			put(7);
		target_sleep_us(200);
	}
	return target_finish(target_mix(3, 3));
}
