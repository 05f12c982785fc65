/* Functions that probes call, and functions in whose midst they are called: with values in every kind of register, from several
 * threads, and with callees that spoil all that they may, wait, leave by longjmp, and run into probes themselves.
 * called THREADS TURNS */
#include "target.h"
#include <immintrin.h>
#include <pthread.h>
#include <setjmp.h>

enum { MAX_THREADS = 16 };

struct count {
	uint64_t messages, bytes, mixed, hops, jumps, nested, turns;
};
static __thread struct count mine;
static struct count all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread jmp_buf back;
static __thread volatile double spoilt; /* what callees leave behind */
static const int sizes[] = {1, 2, 4, 8};

/* Leaves vector registers, the x87 stack and flags as they must not be for whoever is interrupted. */
NOINLINE void spoil(void)
{
	double v = 3;
	char text[64];
	spoilt += snprintf(text, sizeof text, "%g %Lf", v + (double)mine.turns, 1.5L);
	memset(text, 7, sizeof text);
	__asm__ volatile("pcmpeqd %%xmm0, %%xmm0\n pcmpeqd %%xmm1, %%xmm1\n pcmpeqd %%xmm7, %%xmm7\n pcmpeqd %%xmm15, %%xmm15\n fninit\n stc\n"
			 : : "r"(text) : "xmm0", "xmm1", "xmm7", "xmm15", "cc", "memory");
	if (__builtin_cpu_supports("avx"))
		__asm__ volatile("vzeroall" : : : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
				 "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}

NOINLINE int type_size(unsigned type, int *out)
{
	spoil();
	*out = sizes[type & 3];
	return 0;
}

NOINLINE void send_message(const void *what, int n, unsigned type, int to)
{
	mine.messages++;
	mine.bytes += (uint64_t)(n * sizes[type & 3]);
	__asm__ volatile("" : : "r"(what), "r"(to) : "memory");
}

NOINLINE int64_t weigh(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e, int64_t f)
{
	spoil();
	return a + 2 * b + 4 * c + 8 * d + 16 * e + 32 * f;
}

#define BODY                                                                                                        \
	double s = a * 3 + b / 7 - c * d + e * f - g / (h + 1);                                                     \
	return s + (double)(x + 5 * y) * 0.25;
NOINLINE double mix(double a, double b, double c, double d, double e, double f, double g, double h, int64_t x, int64_t y) { mine.mixed++; BODY }
NOINLINE double mix_plain(double a, double b, double c, double d, double e, double f, double g, double h, int64_t x, int64_t y) { BODY }

NOINLINE long double twist(long double v) { return v * 1.25L - 3; }
NOINLINE long double twist_plain(long double v) { return v * 1.25L - 3; }

__attribute__((target("avx"), noinline, noclone)) __m256d wide(__m256d a, __m256d b) { return _mm256_add_pd(_mm256_mul_pd(a, b), a); }
__attribute__((target("avx"), noinline, noclone)) __m256d wide_plain(__m256d a, __m256d b) { return _mm256_add_pd(_mm256_mul_pd(a, b), a); }

__attribute__((target("avx"), noinline, noclone)) static void check_wide(double x)
{
	union { __m256d v; double d[4]; } a, b;
	__m256d one = _mm256_set_pd(x, x + 1, x + 2, x + 3), two = _mm256_set_pd(x / 3, x / 5, x / 7, x / 9);
	a.v = wide(one, two);
	b.v = wide_plain(one, two);
	if (memcmp(&a, &b, sizeof a) != 0)
		target_bad("four doubles were not kept");
}

NOINLINE int escape(void) { longjmp(back, 1); }
NOINLINE void hop(void) { mine.hops++; __asm__ volatile("" ::: "memory"); }

/* A probe at hop's entry that calls escape comes back here. */
NOINLINE void jump(void)
{
	if (setjmp(back) == 0)
		hop();
	mine.jumps++;
}

NOINLINE int64_t inner(int64_t x)
{
	mine.nested++;
	return x + 1;
}
NOINLINE int64_t outer(int64_t x) { return inner(x) * 2; } /* called by a probe at inner's entry */

NOINLINE int nap(void)
{
	struct timespec t = {0, 2000000};
	nanosleep(&t, NULL);
	return 1;
}
NOINLINE void visited(void) { __asm__ volatile("" ::: "memory"); }

/* Never returns before the end: a probe at the entry of what it calls may call nap. */
NOINLINE void visit(void)
{
	while (!target_stopping)
		visited();
}

static void turn(uint64_t i)
{
	double d = (double)i;
	mine.turns++;
	send_message(&d, (int)(i % 1000), (unsigned)i, 0);
	if (mix(d, d + 1, d * 2, 3, d / 3, 5, d - 7, 9, (int64_t)i, -2) != mix_plain(d, d + 1, d * 2, 3, d / 3, 5, d - 7, 9, (int64_t)i, -2))
		target_bad("doubles were not kept");
	if (twist(d) != twist_plain(d))
		target_bad("a long double was not kept");
	if (__builtin_cpu_supports("avx"))
		check_wide(d);
	jump();
	if (outer(3) != 8 || inner(1) != 2)
		target_bad("wrong result");
}

static uint64_t turns;

static void *work(void *arg)
{
	(void)arg;
	for (uint64_t i = 0; i < turns && !target_stopping; i++)
		turn(i);
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < sizeof all / 8; i++)
		((uint64_t *)&all)[i] += ((uint64_t *)&mine)[i];
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void *visitor(void *arg)
{
	(void)arg;
	visit();
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	pthread_t id[MAX_THREADS], other;
	uint64_t said;
	turns = argc > 2 ? strtoull(argv[2], NULL, 0) : 20000;
	if (threads < 1 || threads > MAX_THREADS)
		return 2;
	target_start();
	pthread_create(&other, NULL, visitor, NULL);
	target_wait_go();
	for (int i = 0; i < threads; i++)
		pthread_create(&id[i], NULL, work, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(id[i], NULL);
	said = all.turns;
	target_count("messages", all.messages);
	target_count("bytes", all.bytes);
	target_count("mixed", all.mixed);
	target_count("hops", all.hops);
	target_count("jumps", all.jumps);
	target_count("nested", all.nested);
	puts("DONE");
	while (target_running())
		usleep(1000);
	pthread_join(other, NULL);
	return target_finish(said);
}
