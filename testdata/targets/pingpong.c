/* Two threads on one processor hand each other a byte in turn: a server that answers small requests, and its client. Each answer is a switch
 * from one to the other and back. What answers is called many times for each, what tidies up once in thousands, serve once for all. */
#include "target.h"
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { STEPS = 8, TIDY = 4096, ENTRIES = 1024 };
static int ends[2];
static uint64_t table[ENTRIES];
static volatile pid_t server_tid;

NOINLINE uint64_t step(uint64_t x) { return target_mix(x, table[x % ENTRIES]); }

NOINLINE uint64_t answer(uint64_t request)
{
	uint64_t h = request;
	for (int i = 0; i < STEPS; i++)
		h = step(h);
	return h;
}

NOINLINE void tidy(void)
{
	for (int round = 0; round < 20; round++)
		for (uint64_t i = 0; i < ENTRIES; i++)
			table[i] = target_mix(i, i);
}

/* take reads a byte; 0 at the end. SIGTERM may come at any time. */
static int take(int fd, unsigned char *c)
{
	ssize_t n;
	while ((n = read(fd, c, 1)) < 0)
		if (errno != EINTR)
			target_bad("read: %s", strerror(errno));
	return n == 1;
}

static void give(int fd, unsigned char c)
{
	while (write(fd, &c, 1) != 1)
		if (errno != EINTR)
			target_bad("write: %s", strerror(errno));
}

NOINLINE void *serve(void *arg)
{
	unsigned char c;
	uint64_t n = 0;
	(void)arg;
	server_tid = (pid_t)syscall(SYS_gettid);
	while (take(ends[0], &c)) {
		c = (unsigned char)answer(c);
		give(ends[0], c);
		if (++n % TIDY == 0)
			tidy();
	}
	return NULL;
}

/* ask is the client, which is the main thread. */
static void ask(unsigned char c)
{
	unsigned char want = (unsigned char)answer(c);
	give(ends[1], c);
	if (!take(ends[1], &c) || c != want)
		target_bad("a wrong answer");
}

int main(void)
{
	pthread_t t;
	cpu_set_t all, one;
	target_start();
	tidy();
	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof all, &all) != 0)
		target_bad("sched_getaffinity: %s", strerror(errno));
	for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof one, &one) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		target_bad("%s", strerror(errno));
	pthread_create(&t, NULL, serve, NULL);
	while (!server_tid)
		target_sleep_us(1000);
	target_count("server", (uint64_t)server_tid);
	while (target_running())
		for (unsigned i = 0; i < 1000; i++)
			ask((unsigned char)i);
	shutdown(ends[1], SHUT_RDWR);
	pthread_join(t, NULL);
	return target_finish(answer(12));
}
