/* What gcc -O2 does with -fipa-ra: hot_loop keeps live values in caller-saved registers across calls of small local
 * functions, because it has seen that they do not touch them. A trampoline that takes them for dead changes the sum. */
#include "target.h"

static volatile uint64_t sink;

__attribute__((noinline)) static uint64_t small_add(uint64_t x)
{
	return x + sink;
}

__attribute__((noinline)) static uint64_t small_shift(uint64_t x)
{
	return (x << 1) ^ sink;
}

__attribute__((noinline)) static void small_touch(void)
{
	sink++;
	sink--;
}

NOINLINE uint64_t hot_loop(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	uint64_t e = a ^ b, f = b + c, g = c * 3, h = d | 1;
	for (int i = 0; i < 2000; i++) {
		a = small_add(a + b);
		b ^= small_shift(c);
		small_touch();
		c += d * e;
		d = small_add(d ^ f);
		small_touch();
		e += g;
		f ^= h;
		g = small_shift(g + e);
		h += a;
	}
	return target_mix(a ^ b ^ c ^ d, e ^ f ^ g ^ h);
}

int main(void)
{
	target_start();
	uint64_t first = hot_loop(1, 2, 3, 4), n = 1;
	while (target_running()) {
		for (int i = 0; i < 50; i++, n++)
			if (hot_loop(1, 2, 3, 4) != first)
				target_bad("a live register changed across a call");
	}
	target_count("hot_loop", n);
	target_count("small_add", n * 4000);
	target_count("small_shift", n * 4000);
	target_count("small_touch", n * 4000);
	return target_finish(first);
}
