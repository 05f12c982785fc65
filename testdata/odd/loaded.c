/* The object that ownloader maps: no relocations, no imports, its entry is its work. */
#include <stdint.h>

static uint64_t calls;

__attribute__((noinline)) static uint64_t step(uint64_t x, uint64_t i)
{
	return (x ^ (i + 1)) * 0x9e3779b97f4a7c15u;
}

uint64_t loaded_work(uint64_t x)
{
	calls++;
	for (uint64_t i = 0; i < 50; i++)
		x = step(x, i);
	return x;
}
