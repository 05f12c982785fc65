/* A program that computes, with a part of its work in a function that is chosen: of 100 rounds of equal work parse has PERCENT, and
 * render, sort and store share the rest. parts [PERCENT], 40 by default. Two runs with unequal arguments are what a comparison of reports
 * has to find. */
#include "target.h"

static volatile uint64_t result;

static inline __attribute__((always_inline)) uint64_t work(uint64_t rounds)
{
	uint64_t h = rounds;
	for (uint64_t i = 0; i < rounds * 2000; i++)
		h = target_mix(h, i);
	return h;
}

NOINLINE void parse(uint64_t rounds) { result += work(rounds) + 1; }
NOINLINE void render(uint64_t rounds) { result += work(rounds) + 2; }
NOINLINE void sort(uint64_t rounds) { result += work(rounds) + 3; }
NOINLINE void store(uint64_t rounds) { result += work(rounds) + 4; }

int main(int argc, char **argv)
{
	uint64_t percent = (uint64_t)target_arg(argc, argv, 1, 40);
	if (percent > 100)
		percent = 100;
	target_start();
	uint64_t hash = work(1), rounds = 0;
	while (target_running()) {
		parse(3 * percent);
		render(100 - percent);
		sort(100 - percent);
		store(100 - percent);
		rounds++;
	}
	target_count("parse", rounds);
	return target_finish(hash);
}
