/* Jumps that no direct branch shows: a dense switch (jump table), a sparse one, and computed goto. */
#include "target.h"

NOINLINE uint64_t dense(unsigned op, uint64_t x)
{
	switch (op) {
	case 0: return x + 1;
	case 1: return x * 3;
	case 2: return x ^ 0x55;
	case 3: return x - 7;
	case 4: return x << 2;
	case 5: return x >> 1;
	case 6: return ~x;
	case 7: return target_mix(x, 1);
	case 8: return x % 1000003;
	case 9: return x | 0xf0;
	case 10: return x & ~0xfu;
	case 11: return target_mix(x, x);
	default: return 0;
	}
}

NOINLINE uint64_t sparse(unsigned op, uint64_t x)
{
	switch (op) {
	case 3: return x + 5;
	case 170: return x * 7;
	case 9000: return x ^ 3;
	case 65537: return x - 1;
	case 1000000: return target_mix(x, 2);
	default: return x;
	}
}

/* interpret runs a small program of byte codes by computed goto. */
NOINLINE uint64_t interpret(const unsigned char *code, uint64_t x)
{
	static void *const labels[] = {&&add, &&multiply, &&exclusive, &&rotate, &&halt};
#define NEXT goto *labels[*code++]
	NEXT;
add:
	x += 17;
	NEXT;
multiply:
	x *= 31;
	NEXT;
exclusive:
	x ^= x >> 7;
	NEXT;
rotate:
	x = (x << 13) | (x >> 51);
	NEXT;
halt:
	return x;
}

NOINLINE uint64_t one_round(void)
{
	static const unsigned char code[] = {0, 1, 2, 3, 0, 0, 2, 1, 3, 3, 1, 4};
	static const unsigned odd[] = {3, 170, 9000, 65537, 1000000, 5};
	uint64_t h = 1;
	for (unsigned i = 0; i < 1200; i++) {
		h = target_mix(h, dense(i % 13, h));
		h = target_mix(h, sparse(odd[i % 6], h));
		h = target_mix(h, interpret(code, h));
	}
	return h;
}

int main(void)
{
	target_start();
	uint64_t hash = one_round(), n = 1;
	while (target_running())
		for (int i = 0; i < 20; i++, n++)
			if (one_round() != hash)
				target_bad("hash differs");
	target_count("one_round", n);
	target_count("dense", n * 1200);
	target_count("sparse", n * 1200);
	target_count("interpret", n * 1200);
	return target_finish(hash);
}
