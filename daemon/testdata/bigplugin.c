/* A shared object too big for the gaps between others: it is loaded where there is room. */
#include <stdint.h>

char room[1u << 30];

__attribute__((noinline)) static uint64_t plugin_step(uint64_t x, uint64_t i)
{
	return (x ^ (i + 1)) * 0x9e3779b97f4a7c15u + (uint64_t)room[i];
}

uint64_t plugin_work(uint64_t x)
{
	for (uint64_t i = 0; i < 100; i++)
		x = plugin_step(x, i);
	return x;
}
