/* A thread waits for the locks that the C library has in stdio streams: in one with a file, in stderr, in one that is memory, and in one whose
 * functions are the program's own. Another thread has each for 5 ms.
 * streams [rounds]; warm: the same without counting */
#include "target.h"
#include <pthread.h>
#include <stdatomic.h>

enum { NOTHING, FILED, STANDARD, MEMORY, COOKIE, END };

static FILE *streams[END];
static atomic_int turn; /* what the waiter waits for now; negative once the partner has what it wants */
static uint64_t file_ns, standard_ns, memory_ns, cookie_ns, calls;
static volatile int warm;
static char *text;
static size_t size;

/* begin has the partner take the lock of a stream, and returns the time at which it has it. */
static uint64_t begin(int what)
{
	turn = what;
	while (turn == what)
		target_sleep_us(100);
	return target_now_ns();
}

static uint64_t end(uint64_t since)
{
	uint64_t took = target_now_ns() - since;
	calls++;
	while (turn != NOTHING)
		target_sleep_us(100);
	return took;
}

NOINLINE void wait_file(void)
{
	uint64_t t = begin(FILED);
	fprintf(streams[FILED], "%d\n", 1);
	file_ns += end(t);
}

NOINLINE void wait_standard(void)
{
	uint64_t t = begin(STANDARD);
	fflush(streams[STANDARD]);
	standard_ns += end(t);
}

NOINLINE void wait_memory(void)
{
	uint64_t t = begin(MEMORY);
	rewind(streams[MEMORY]);
	memory_ns += end(t);
}

NOINLINE void wait_cookie(void)
{
	uint64_t t = begin(COOKIE);
	putc('x', streams[COOKIE]);
	cookie_ns += end(t);
}

static ssize_t take(void *cookie, const char *data, size_t n)
{
	(void)cookie;
	(void)data;
	return (ssize_t)n;
}

static void *partner(void *arg)
{
	for (;;) {
		int what = turn;
		if (what == END)
			return arg;
		if (what <= NOTHING) {
			target_sleep_us(100);
			continue;
		}
		flockfile(streams[what]);
		turn = -what;
		target_sleep_us(5000);
		funlockfile(streams[what]);
		turn = NOTHING;
	}
}

static void rounds_of(long n)
{
	while (n-- > 0) {
		wait_file();
		wait_standard();
		wait_memory();
		wait_cookie();
	}
}

static void command(const char *line)
{
	if (strcmp(line, "warm") == 0)
		warm = 1;
}

static volatile int finished;

static void *waiter(void *arg)
{
	rounds_of(*(long *)arg);
	finished = 1;
	return NULL;
}

/* let has a thread wait that many times in each way. */
static void let(long n)
{
	pthread_t a, b;
	finished = 0;
	turn = NOTHING;
	pthread_create(&b, NULL, partner, NULL);
	pthread_create(&a, NULL, waiter, &n);
	while (!finished)
		target_poll(20);
	turn = END;
	target_sleep_us(100000); /* so that nobody is waited for when they are joined */
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}

int main(int argc, char **argv)
{
	target_command = command;
	target_start();
	long rounds = target_arg(argc, argv, 1, 10);
	streams[FILED] = fopen("/dev/null", "w");
	streams[STANDARD] = stderr;
	streams[MEMORY] = open_memstream(&text, &size);
	streams[COOKIE] = fopencookie(NULL, "w", (cookie_io_functions_t){.write = take});
	if (!streams[FILED] || !streams[MEMORY] || !streams[COOKIE])
		target_bad("no stream");
	while (!target_going) {
		target_poll(20);
		if (warm) {
			let(30);
			warm = 0;
			puts("WARM");
		}
	}
	file_ns = standard_ns = memory_ns = cookie_ns = calls = 0;
	let(rounds);
	target_count("file", file_ns);
	target_count("standard", standard_ns);
	target_count("memory", memory_ns);
	target_count("cookie", cookie_ns);
	target_count("calls", calls);
	puts("DONE");
	target_wait_stop();
	return target_finish(target_mix(12, (uint64_t)rounds));
}
