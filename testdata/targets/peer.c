/* Small functions of every kind that an instrumenter's test wants, each called a known number of times when it is told so.
 * Each checks its own arguments, results and variables.
 * Line "run NAME N": N rounds of one case; it says DONE NAME when they are over. "go": 1000 rounds of each.
 * COUNT <function> is the number of calls since the program began. */
#include "target.h"

enum { VALUES = 11 };
static struct {
	uint64_t zero, four, keep, pair, six, ten, inner, outer, five, gives, callee_a, callee_b, callee_c, caller, maybe, returns, timed, down,
		up, nest, tight, branchy, mixed, callback_a, callback_b, callback_c, dynamic, clocks;
} tally;
static uint64_t hash;
static char wanted[32];
static long wanted_rounds;
static volatile int step, wrong; /* wrong: set where a call that reports would be a call site too many */

static const long values[VALUES] = {INT64_MIN, INT32_MIN, -66666, -1, 0, 1, 2, 3, INT32_MAX, INT32_MAX + 1L, INT64_MAX};

NOINLINE void zero(void)
{
	tally.zero++;
}

NOINLINE long four(long a, long b, long c, long d)
{
	tally.four++;
	if (b != 2 || c != 3 || d != 4)
		target_bad("four: %ld %ld %ld %ld", a, b, c, d);
	return a + b + c + d;
}

NOINLINE long keep(long a)
{
	tally.keep++;
	return a + 32;
}

NOINLINE long pair(long a, long b)
{
	tally.pair++;
	return (long)target_mix((uint64_t)a, (uint64_t)b);
}

NOINLINE long six(long a, long b, long sum, long difference, long product, long negative)
{
	tally.six++;
	return (long)target_mix((uint64_t)(a ^ b), (uint64_t)(sum ^ difference ^ product ^ negative));
}

NOINLINE long ten(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j)
{
	tally.ten++;
	if (a != 1 || b != 2 || c != 3 || d != 4 || e != 5 || f != 6 || g != 7 || h != 8 || i != 9 || j != 10)
		target_bad("ten: %ld %ld %ld %ld %ld %ld %ld %ld %ld %ld", a, b, c, d, e, f, g, h, i, j);
	return a + b + c + d + e + f + g + h + i + j;
}

NOINLINE void inner(void)
{
	tally.inner++;
	wrong |= step != 1;
	step = 2;
}

NOINLINE void outer(void)
{
	tally.outer++;
	step = 1;
	inner();
	wrong |= step != 2;
	step = 3;
}

NOINLINE int gives(void)
{
	tally.gives++;
	return 1310;
}

NOINLINE int five(int a, int b, int c, int d, int e)
{
	tally.five++;
	int given = gives();
	wrong |= a != 131 || b != 132 || c != 133 || d != 134 || e != 135 || given != 1310;
	return given;
}

NOINLINE void callee_a(void)
{
	tally.callee_a++;
}

NOINLINE void callee_b(void)
{
	tally.callee_b++;
}

NOINLINE void callee_c(int *var)
{
	tally.callee_c++;
	*var = 3;
}

NOINLINE void caller(void)
{
	int var = 0;
	tally.caller++;
	callee_a();
	callee_b();
	callee_c(&var);
	wrong |= var != 3;
}

/* A branch leads to where its call comes back to. */
NOINLINE void maybe(long x)
{
	if (__builtin_expect(x & 1, 1)) /* likely, so that the call is in the way and jumped over */
		callee_a();
	tally.maybe++;
	hash = target_mix(hash, (uint64_t)x); /* too much to be there twice */
	hash = target_mix(hash, tally.maybe & 1);
}

/* One function for every way in which a value comes back. */
struct longs {
	long a, b;
};
struct doubles {
	double a, b;
};
struct large {
	long a[6];
};

NOINLINE _Bool returns_bool(long x)
{
	tally.returns++;
	return x & 1;
}

NOINLINE int returns_int(long x)
{
	tally.returns++;
	return (int)x - 7;
}

NOINLINE struct longs returns_longs(long x)
{
	tally.returns++;
	return (struct longs){x + 1, x + 2};
}

NOINLINE double returns_double(long x)
{
	tally.returns++;
	return (double)x * 0.5;
}

NOINLINE struct doubles returns_doubles(long x)
{
	tally.returns++;
	return (struct doubles){(double)x + 0.25, (double)x + 0.75};
}

NOINLINE long double returns_x87(long x)
{
	tally.returns++;
	return (long double)x + 1.5L;
}

NOINLINE struct large returns_large(long x)
{
	tally.returns++;
	return (struct large){{x, x + 1, x + 2, x + 3, x + 4, x + 5}};
}

NOINLINE void timed(void)
{
	struct timespec ts;
	tally.timed++;
	for (int i = 0; i < 3; i++) {
		tally.clocks++;
		if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts) != 0)
			target_bad("clock_gettime");
	}
}

uint64_t up(int n);

__attribute__((optimize("no-optimize-sibling-calls"))) NOINLINE uint64_t down(int n)
{
	tally.down++;
	if (n == 0)
		return 1;
	return up(n - 1) + 1;
}

__attribute__((optimize("no-optimize-sibling-calls"))) NOINLINE uint64_t up(int n)
{
	tally.up++;
	if (n == 0)
		return 2;
	return down(n - 1) + 1;
}

/* Loops in loops. The counts are kept in memory, so that no loop is computed away. */
static volatile uint64_t outer_trips, middle_trips, innermost_trips, last_trips;

__attribute__((optimize("no-unroll-loops", "no-tree-vectorize", "no-tree-loop-distribute-patterns"))) NOINLINE void nest(int a, int b, int c)
{
	tally.nest++;
	for (int i = 0; i < a; i++) {
		outer_trips++;
		for (int j = 0; j < b; j++) {
			middle_trips++;
			for (int k = 0; k < c; k++)
				innermost_trips++;
		}
		int m = 0;
		do
			last_trips++;
		while (++m < 5);
	}
}

/* Loops with nothing before or behind those inside them: 20 turns of the innermost one end all three. */
static volatile uint64_t tight_trips;

NOINLINE void tight(void)
{
	volatile int i = 0, j = 0, k = 0;
	tally.tight++;
	while (i < 5)
		while (j < 10)
			do {
				tight_trips++;
				i++, j++, k++;
			} while (k < 20);
}

/* Loops whose bodies are conditions. */
static volatile uint64_t branchy_taken;

NOINLINE void branchy(int n)
{
	volatile int i, j;
	tally.branchy++;
	for (i = 0; i < n; i++) {
		if (i % 2 == 0)
			branchy_taken++;
		for (j = 0; j < 8; j++)
			if (i % 2 == 0)
				branchy_taken++;
	}
}

/* Much arithmetic of all kinds in registers, flags that live over several instructions, values below the stack pointer. */
NOINLINE double mixed(int n, uint64_t *whole, double *fraction)
{
	uint64_t a = 1, b = 2, c = 3, d = 5, carry = 0;
	double x = 1, y = 2, z = 3;
	tally.mixed++;
	for (int i = 1; i <= n; i++) {
		carry += __builtin_add_overflow(a, b << 60, &a);
		b = (b << 7 | b >> 57) ^ (c + (d * (a | 1) + (b & c)));
		c += a > b ? d : a < c ? b : carry;
		d = (d ^ (uint64_t)i) * 0x9e3779b97f4a7c15u;
		x += y / (z + i);
		y = x > z ? y * 0.75 + (double)(d & 15) : y + 0.5;
		z += (x + (y + (z + (x * (y + 1.5))))) * 1e-3;
		for (int k = 0; k < 3; k++)
			a ^= c >> (k + 5);
	}
	*whole = a ^ b ^ c ^ d ^ carry;
	*fraction = x + y + z;
	return x;
}

NOINLINE void callback_a(void)
{
	tally.callback_a++;
}

NOINLINE void callback_b(void)
{
	tally.callback_b++;
}

NOINLINE void callback_c(void)
{
	tally.callback_c++;
}

NOINLINE void dynamic(void (*volatile *f)(void))
{
	tally.dynamic++;
	(*f)();
	__asm__ volatile("" ::: "memory"); /* so that it is a call, not a jump */
}

static void run_zero(long i)
{
	(void)i;
	zero();
}

static void run_four(long i)
{
	hash = target_mix(hash, (uint64_t)four(1 + i % 100, 2, 3, 4));
}

static void run_keep(long i)
{
	hash = target_mix(hash, (uint64_t)keep(i));
}

static void run_pair(long i)
{
	(void)i;
	for (int a = 0; a < VALUES; a++)
		for (int b = 0; b < VALUES; b++)
			hash = target_mix(hash, (uint64_t)pair(values[a], values[b]));
}

/* The processor's own arithmetic: 64 bits, wrapping. */
static void run_six(long i)
{
	(void)i;
	for (int x = 0; x < VALUES; x++)
		for (int y = 0; y < VALUES; y++) {
			uint64_t a = (uint64_t)values[x], b = (uint64_t)values[y];
			hash = target_mix(hash, (uint64_t)six((long)a, (long)b, (long)(a + b), (long)(a - b), (long)(a * b), (long)-a));
		}
}

static void run_ten(long i)
{
	(void)i;
	if (ten(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) != 55)
		target_bad("ten: wrong sum");
}

static void run_outer(long i)
{
	(void)i;
	step = 0;
	outer();
	if (step != 3)
		target_bad("step %d", step);
}

static void run_five(long i)
{
	(void)i;
	hash = target_mix(hash, (uint64_t)five(131, 132, 133, 134, 135));
}

static void run_caller(long i)
{
	(void)i;
	caller();
}

static void run_maybe(long i)
{
	maybe(i);
}

static void run_returns(long i)
{
	if (returns_bool(i) != (i & 1) || returns_int(i) != (int)i - 7 || returns_double(i) != (double)i * 0.5)
		target_bad("a scalar changed at a return");
	struct longs l = returns_longs(i);
	struct doubles d = returns_doubles(i);
	if (l.a != i + 1 || l.b != i + 2 || d.a != (double)i + 0.25 || d.b != (double)i + 0.75)
		target_bad("a pair changed at a return");
	if (returns_x87(i) != (long double)i + 1.5L)
		target_bad("st0 changed at a return");
	struct large g = returns_large(i);
	for (int k = 0; k < 6; k++)
		if (g.a[k] != i + k)
			target_bad("a structure changed at a return");
}

static void run_timed(long i)
{
	(void)i;
	timed();
}

static void run_down(long i)
{
	hash = target_mix(hash, down((int)(i % 6)));
}

static void run_nest(long i)
{
	(void)i;
	nest(100, 10, 7);
}

static void run_tight(long i)
{
	(void)i;
	tight();
}

static void run_branchy(long i)
{
	(void)i;
	branchy(60);
}

static void run_mixed(long i)
{
	uint64_t whole, bits;
	double fraction, x = mixed(20 + (int)(i % 5), &whole, &fraction);
	fraction += x;
	memcpy(&bits, &fraction, sizeof bits);
	hash = target_mix(target_mix(hash, whole), bits);
}

static void run_dynamic(long i)
{
	static void (*volatile const targets[])(void) = {callback_a, callback_b, callback_c, callback_a};
	void (*volatile f)(void) = targets[i % 4];
	dynamic(&f);
}

static const struct {
	const char *name;
	void (*run)(long);
} cases[] = {{"zero", run_zero},   {"four", run_four},	 {"keep", run_keep},	   {"pair", run_pair},	 {"six", run_six},
	     {"ten", run_ten},	   {"outer", run_outer}, {"five", run_five},	   {"caller", run_caller}, {"maybe", run_maybe},
	     {"returns", run_returns}, {"timed", run_timed}, {"down", run_down}, {"nest", run_nest}, {"tight", run_tight}, {"branchy", run_branchy},
	     {"mixed", run_mixed}, {"dynamic", run_dynamic}};

static void run_case(const char *name, long n)
{
	int known = 0;
	for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
		if (strcmp(name, cases[c].name) == 0 || strcmp(name, "every") == 0) {
			known = 1;
			for (long i = 0; i < n; i++)
				cases[c].run(i);
			if (wrong)
				target_bad("%s: an argument, a result or a variable was wrong", cases[c].name);
		}
	if (!known)
		target_bad("no case %s", name);
}

static void report(void)
{
#define COUNT(function) target_count(#function, tally.function)
	COUNT(zero), COUNT(four), COUNT(keep), COUNT(pair), COUNT(six), COUNT(ten), COUNT(inner), COUNT(outer), COUNT(five);
	COUNT(gives), COUNT(callee_a), COUNT(callee_b), COUNT(callee_c), COUNT(caller), COUNT(maybe), COUNT(returns), COUNT(timed), COUNT(clocks);
	COUNT(down), COUNT(up), COUNT(nest), COUNT(tight), COUNT(branchy), COUNT(mixed), COUNT(callback_a), COUNT(callback_b), COUNT(callback_c), COUNT(dynamic);
	target_count("outer_trips", outer_trips);
	target_count("middle_trips", middle_trips);
	target_count("innermost_trips", innermost_trips);
	target_count("last_trips", last_trips);
	target_count("tight_trips", tight_trips);
	target_count("branchy_taken", branchy_taken);
}

static void command(const char *line)
{
	char name[32];
	long n;
	if (sscanf(line, "run %31s %ld", name, &n) == 2 && n > 0) {
		strcpy(wanted, name);
		wanted_rounds = n;
	}
}

int main(void)
{
	target_start();
	target_command = command;
	int warm = 0;
	while (!target_stopping) {
		target_poll(20);
		if (target_going && !target_stopping && !warm) {
			warm = 1;
			run_case("every", 1000);
		}
		if (wanted_rounds) {
			run_case(wanted, wanted_rounds);
			report();
			printf("DONE %s\n", wanted);
			wanted_rounds = 0;
		}
	}
	report();
	return target_finish(hash);
}
