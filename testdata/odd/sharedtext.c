/* Maps the code of a library that it has loaded MAP_SHARED and writable over where it was, as programs that change their own code on disk do:
 * what is written there comes into the file. Argument 1: the library. Argument 2: "late" to map it on the line "map". */
#define _GNU_SOURCE
#include "target.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>

static const char *path;
static uint64_t (*work)(uint64_t);

static void map_shared(void)
{
	unsigned long lo, hi, offset;
	char line[512], perms[8];
	FILE *maps = fopen("/proc/self/maps", "r");
	int fd = open(path, O_RDWR);

	while (maps && fgets(line, sizeof line, maps)) {
		if (sscanf(line, "%lx-%lx %7s %lx", &lo, &hi, perms, &offset) == 4 && perms[2] == 'x' && lo <= (unsigned long)work && (unsigned long)work < hi)
			break;
		lo = hi = 0;
	}
	if (fd < 0 || lo == hi || mmap((void *)lo, hi - lo, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED | MAP_FIXED, fd, (off_t)offset) == MAP_FAILED)
		target_bad("the library cannot be mapped: %m");
	fclose(maps);
	close(fd);
}

static void command(const char *line)
{
	if (strcmp(line, "map") == 0)
		map_shared();
}

int main(int argc, char **argv)
{
	void *library;
	uint64_t hash = 1;

	target_command = command;
	library = argc > 1 ? dlopen(path = argv[1], RTLD_NOW) : NULL;
	if (!library)
		target_bad("no library: %s", argc > 1 ? dlerror() : "none named");
	work = (uint64_t(*)(uint64_t))dlsym(library, "loaded_work");
	if (argc < 3)
		map_shared();
	target_start();
	while (target_running()) {
		hash = work(hash);
		target_sleep_us(200);
	}
	return target_finish(1);
}
