// Allocates in every way that the C and C++ libraries have, and counts how often and how much it asked for.
// allocs [rounds]
#include "target.h"
#include <malloc.h>
#include <new>

static void *volatile sink; // what goes through it is not optimised away
static uint64_t allocations, bytes;
static volatile size_t nothing;

static void asked(size_t n)
{
	allocations++;
	bytes += n;
}

static void *kept(void *p)
{
	if (!p)
		target_bad("no memory");
	sink = p;
	return sink;
}

NOINLINE void plain(size_t n)
{
	asked(n);
	free(kept(malloc(n)));
	asked(3 * n);
	free(kept(calloc(3, n)));
	asked(n + 1);
	char *text = (char *)kept(malloc(n + 1));
	memset(text, 'x', n);
	text[n] = 0;
	asked(n + 1); // malloc, called by the C library itself
	free(kept(strdup(text)));
	free(text);
}

NOINLINE void again(size_t n)
{
	asked(n);
	void *p = kept(realloc(sink = nullptr, n)); // glibc jumps to malloc
	asked(4 * n);
	p = kept(realloc(p, 4 * n));
	asked(2 * n);
	p = kept(reallocarray(p, 2, n)); // jumps to realloc
	free(p);
	asked(n);
	p = kept(malloc(n));
	sink = realloc(p, nothing); // frees it
}

NOINLINE void aligned(size_t n)
{
	void *p;
	asked(n);
	free(kept(aligned_alloc(64, n)));
	asked(n);
	free(kept(aligned_alloc(16, n))); // what malloc does, too
	asked(n);
	free(kept(memalign(256, n)));
	asked(n);
	free(kept(valloc(n)));
	asked(n);
	if (posix_memalign(&p, 128, n) != 0)
		target_bad("posix_memalign");
	free(kept(p));
	asked(n);
	if (posix_memalign(&p, 16, n) != 0) // calls malloc
		target_bad("posix_memalign");
	free(kept(p));
}

struct alignas(64) Line {
	char c[64];
};

NOINLINE void objects(size_t n)
{
	asked(sizeof(uint64_t));
	uint64_t *one = new uint64_t(n);
	sink = one;
	delete one;
	asked(n);
	char *many = new char[n];
	sink = many;
	delete[] many;
	asked(sizeof(Line)); // through aligned_alloc
	Line *line = new Line();
	sink = line;
	delete line;
}

NOINLINE void large(void)
{
	asked(1 << 20); // a mapping of its own
	void *p = kept(malloc(1 << 20));
	asked(3 << 20);
	free(kept(realloc(p, 3 << 20)));
}

int main(int argc, char **argv)
{
	target_start();
	long rounds = target_arg(argc, argv, 1, 1000);
	target_wait_go();
	uint64_t by_objects = 0, by_again = 0;
	for (long i = 0; i < rounds; i++) {
		size_t n = 64 * (size_t)(1 + i % 50);
		plain(n);
		uint64_t before = bytes;
		again(n);
		by_again += bytes - before;
		aligned(n);
		before = allocations;
		objects(n);
		by_objects += allocations - before;
		if (i % 100 == 0)
			large();
	}
	target_count("allocations", allocations);
	target_count("bytes", bytes);
	target_count("objects", by_objects);
	target_count("again_bytes", by_again);
	puts("DONE");
	target_wait_stop();
	return target_finish(target_mix(allocations, bytes));
}
