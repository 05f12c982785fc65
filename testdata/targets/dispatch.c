/* Calls through pointers: from a table, whose entry changes, from a member of a structure, and one that is never made. */
#include "target.h"

struct state {
	uint64_t (*last)(uint64_t);
	uint64_t (*never)(uint64_t);
	uint64_t calls;
};

NOINLINE uint64_t add(uint64_t x) { return target_mix(x, 3); }
NOINLINE uint64_t mix(uint64_t x) { return target_mix(x, x >> 7); }
NOINLINE uint64_t shift(uint64_t x) { return target_mix(x << 1, 1); }
NOINLINE uint64_t only(uint64_t x) { return target_mix(x, 11); }
NOINLINE uint64_t unused(uint64_t x) { return target_mix(x, 99); }
NOINLINE uint64_t direct(uint64_t x) { return target_mix(x, 2); }

NOINLINE uint64_t passes_on(uint64_t x) { return add(x + 1); }

static uint64_t (*table[4])(uint64_t) = {add, mix, shift, mix};

NOINLINE uint64_t dispatch(struct state *s, uint64_t x)
{
	s->calls++;
	x = table[x & 3](x) + 1;
	x = direct(x) + 1;
	if (x == 12345678)
		x = s->never(x) + 1;
	return s->last(x) + 1;
}

int main(void)
{
	struct state s = {only, unused, 0};
	uint64_t x = 1;
	target_start();
	target_wait_go();
	while (target_running()) {
		for (int i = 0; i < 1000; i++)
			x = dispatch(&s, x);
	}
	target_count("dispatch", s.calls > 0);
	return target_finish(s.calls > 0);
}
