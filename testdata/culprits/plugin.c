// Cause: a plugin that is loaded at run time computes all the time, in its function blur_tile().
// Right: CPUbound at blur_tile()
// Args: DIR

/* The file is both: the program holds its own text, and compiles the part below PLUGIN as DIR/blur.so when it starts. */
#include <stdint.h>

enum { TILE = 256 };

#ifdef PLUGIN

__attribute__((noinline)) void blur_tile(const uint32_t *from, uint32_t *to)
{
	for (int y = 1; y < TILE - 1; y++)
		for (int x = 1; x < TILE - 1; x++) {
			uint32_t sum = 0;
			for (int dy = -1; dy <= 1; dy++)
				for (int dx = -1; dx <= 1; dx++)
					sum += from[(y + dy) * TILE + x + dx];
			to[y * TILE + x] = sum / 9;
		}
}

uint32_t filter(uint32_t *tile, uint32_t *space)
{
	for (int round = 0; round < 8; round++) {
		blur_tile(tile, space);
		blur_tile(space, tile);
	}
	return tile[TILE + 1];
}

#else

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__asm__(".section .rodata\n"
	"plugin_source: .incbin \"" __FILE__ "\"\n"
	"plugin_source_end: .byte 0\n"
	".previous\n");
extern const char plugin_source[], plugin_source_end[];

static uint32_t tile[TILE * TILE], space[TILE * TILE];
static volatile uint64_t sum;

static void build_plugin(const char *dir)
{
	char path[3000], command[8192];
	snprintf(path, sizeof path, "%s/blur.c", dir);
	FILE *f = fopen(path, "w");
	if (!f) {
		perror(path);
		exit(1);
	}
	fwrite(plugin_source, 1, (size_t)(plugin_source_end - plugin_source), f);
	fclose(f);
	snprintf(command, sizeof command, "cc -DPLUGIN -O2 -g -fPIC -shared -o '%s/blur.so' '%s'", dir, path);
	if (system(command) != 0)
		exit(1);
}

__attribute__((noinline)) void load_tile(uint32_t n)
{
	for (int i = 0; i < TILE * TILE; i++)
		tile[i] = (uint32_t)i * n;
}

int main(int argc, char **argv)
{
	const char *dir = argc > 1 ? argv[1] : ".";
	char path[4096];
	build_plugin(dir);
	snprintf(path, sizeof path, "%s/blur.so", dir);
	void *plugin = dlopen(path, RTLD_NOW);
	uint32_t (*filter)(uint32_t *, uint32_t *) = plugin ? (uint32_t(*)(uint32_t *, uint32_t *))dlsym(plugin, "filter") : NULL;
	if (!filter) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (uint32_t n = 1;; n++) {
		load_tile(n);
		sum += filter(tile, space);
	}
}

#endif
