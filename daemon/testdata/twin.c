/* One of two shared objects of one size that are loaded in turns, mostly at the same address. What is a function's beginning in
 * one is the middle of a function in the other. Built with -DTWIN=1 or 2. */
#include <stdint.h>

#define STEP __attribute__((noinline)) uint64_t

#if TWIN == 1
STEP twin_first(uint64_t x) { return (x ^ 0x1234567) * 0x9e3779b97f4a7c15u; }
STEP twin_second(uint64_t x) { return ((x << 7 | x >> 57) + 0x55555) * 0xbf58476d1ce4e5b9u ^ x >> 3; }
#else
STEP twin_third(uint64_t x) { return ((x << 9 | x >> 55) ^ 0x77777) * 0x94d049bb133111ebu ^ x >> 5 ^ x << 2; }
STEP twin_fourth(uint64_t x) { return (x + 0x7654321) * 0x9e3779b97f4a7c15u; }
#define twin_first twin_third
#define twin_second twin_fourth
#endif

uint64_t twin_work(uint64_t x)
{
	for (int i = 0; i < 50; i++)
		x = twin_first(x) + twin_second(x + 1);
	return x;
}
