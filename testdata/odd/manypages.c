/* A program of two thousand functions, each on a page of its own: whoever writes to all of them copies 8 MiB. */
#include "target.h"

#define ONE(n) NOINLINE __attribute__((aligned(4096))) uint64_t f##n(uint64_t h) { return target_mix(h, 1##n); }
#define TEN(n) ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
#define HUNDRED(n) TEN(n##0) TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)
#define THOUSAND(n) HUNDRED(n##0) HUNDRED(n##1) HUNDRED(n##2) HUNDRED(n##3) HUNDRED(n##4) HUNDRED(n##5) HUNDRED(n##6) HUNDRED(n##7) HUNDRED(n##8) HUNDRED(n##9)
THOUSAND(1)
THOUSAND(2)

#define CALL(n) h = f##n(h);
#define CALL10(n) CALL(n##0) CALL(n##1) CALL(n##2) CALL(n##3) CALL(n##4) CALL(n##5) CALL(n##6) CALL(n##7) CALL(n##8) CALL(n##9)
#define CALL100(n) CALL10(n##0) CALL10(n##1) CALL10(n##2) CALL10(n##3) CALL10(n##4) CALL10(n##5) CALL10(n##6) CALL10(n##7) CALL10(n##8) CALL10(n##9)
#define CALL1000(n) CALL100(n##0) CALL100(n##1) CALL100(n##2) CALL100(n##3) CALL100(n##4) CALL100(n##5) CALL100(n##6) CALL100(n##7) CALL100(n##8) CALL100(n##9)

int main(void)
{
	uint64_t h = 1;
	target_start();
	while (target_running()) {
		CALL1000(1)
		CALL1000(2)
		target_sleep_us(1000);
	}
	return target_finish(h);
}
