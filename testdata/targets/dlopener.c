/* Loads a library, calls it, unloads it, again and again.
 * dlopener PATH-OF-PLUGIN [calls each time] [1: the first time is after the line "hold"] [1: into a namespace of its own]
 * A namespace of its own has a second C library. The program maps its own file then, too, as programs do that look for their symbols.
 * Line "hold": the library stays loaded from the next time on, and is called; "release": unloads again; "away": is not loaded until "hold". */
#include "target.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>

static volatile int hold, away, apart;

static void command(const char *line)
{
	if (strcmp(line, "hold") == 0) {
		away = 0;
		hold = 1;
	}
	if (strcmp(line, "release") == 0)
		hold = 0;
	if (strcmp(line, "away") == 0) {
		away = 1;
		hold = 0;
	}
}

struct plugin {
	void *handle;
	uint64_t (*work)(uint64_t);
	uint64_t (*calls)(void);
};

NOINLINE struct plugin load(const char *path)
{
	struct plugin p;
	p.handle = dlmopen(apart ? LM_ID_NEWLM : LM_ID_BASE, path, RTLD_NOW | RTLD_LOCAL);
	if (!p.handle)
		target_bad("dlopen: %s", dlerror());
	*(void **)&p.work = dlsym(p.handle, "plugin_work");
	*(void **)&p.calls = dlsym(p.handle, "plugin_calls");
	if (!p.work || !p.calls)
		target_bad("dlsym: %s", dlerror());
	return p;
}

static void map_own_file(void)
{
	struct stat st;
	int fd = open("/proc/self/exe", O_RDONLY);
	if (fd < 0 || fstat(fd, &st) != 0 || mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		target_bad("mapping the own file: %s", strerror(errno));
	close(fd);
}

NOINLINE uint64_t use(struct plugin p, long calls)
{
	uint64_t h = 1, before = p.calls();
	for (long i = 0; i < calls; i++)
		h = p.work(h);
	if (p.calls() - before != (uint64_t)calls)
		target_bad("the plugin counted wrongly");
	return h;
}

int main(int argc, char **argv)
{
	target_start();
	if (argc < 2)
		target_bad("usage: dlopener PATH-OF-PLUGIN [calls each time] [1: not before \"hold\"] [1: apart]");
	long calls = target_arg(argc, argv, 2, 50);
	away = (int)target_arg(argc, argv, 3, 0);
	apart = (int)target_arg(argc, argv, 4, 0);
	if (apart)
		map_own_file();
	uint64_t loads = 0, works = 0, hash = 0;
	target_command = command;
	while (target_running()) {
		if (away) {
			target_sleep_us(500);
			continue;
		}
		struct plugin p = load(argv[1]);
		loads++;
		do {
			uint64_t h = use(p, calls);
			works += (uint64_t)calls;
			if (hash && h != hash)
				target_bad("hash differs");
			hash = h;
			if (hold)
				target_sleep_us(100);
		} while (hold && target_running());
		if (dlclose(p.handle) != 0)
			target_bad("dlclose: %s", dlerror());
		target_sleep_us(500);
	}
	target_count("dlopen", loads);
	target_count("plugin_work", works);
	return target_finish(hash);
}
