/* Nearly all CPU time is in distance, five levels below main, and a part of it is reached through function pointers. */
#include "target.h"

enum { POINTS = 256 };
static uint64_t points[POINTS];
typedef uint64_t (*operation)(uint64_t);

NOINLINE uint64_t distance(uint64_t from)
{
	uint64_t h = from;
	for (int round = 0; round < 40; round++)
		for (int i = 0; i < POINTS; i++)
			h = target_mix(h, points[i] ^ (uint64_t)round);
	return h;
}

NOINLINE uint64_t nearest(uint64_t from)
{
	uint64_t best = distance(from);
	for (uint64_t i = 1; i < 4; i++) {
		uint64_t d = distance(from + i);
		if (d < best)
			best = d;
	}
	return best;
}

NOINLINE uint64_t classify(uint64_t record) { return nearest(record) ^ 1; }

NOINLINE uint64_t op_cheap(uint64_t x) { return x + 1; }
NOINLINE uint64_t op_classify(uint64_t x) { return classify(x) + 2; }
NOINLINE uint64_t op_shift(uint64_t x) { return x >> 3; }
static volatile operation operations[] = {op_cheap, op_classify, op_shift};

NOINLINE uint64_t handle(uint64_t record)
{
	uint64_t h = record;
	for (unsigned i = 0; i < sizeof operations / sizeof *operations; i++)
		h = target_mix(h, operations[i](record));
	return h;
}

NOINLINE uint64_t run_batch(void)
{
	uint64_t h = 0;
	for (uint64_t i = 0; i < 8; i++)
		h = target_mix(h, handle(i));
	return h;
}

int main(void)
{
	target_start();
	for (uint64_t i = 0; i < POINTS; i++)
		points[i] = target_mix(i, i);
	uint64_t hash = run_batch(), batches = 1;
	while (target_running()) {
		if (run_batch() != hash)
			target_bad("hash differs");
		batches++;
	}
	target_count("run_batch", batches);
	target_count("handle", batches * 8);
	target_count("distance", batches * 8 * 4);
	return target_finish(hash);
}
