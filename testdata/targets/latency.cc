/* Calls that take, and writes that have, sizes which are known: the truth for distributions.
 * latency [rounds [threads]]: a round has 90 naps of 1 ms, 9 of 10 ms and one of 50 ms, and other calls in the same shares.
 * Lines out: TOOK <function> <ns> for each call as the caller measured it, SIZE <bytes> for each write of put. The threads have
 * ended when DONE is printed. */
#include "target.h"
#include <pthread.h>
#include <stdexcept>
#include <vector>

struct Call {
	const char *name;
	uint64_t ns;
};
struct Share {
	pthread_t thread;
	long rounds;
	std::vector<Call> calls;
	std::vector<size_t> sizes;
	uint64_t hash, returned, thrown;
};

static char bytes[1 << 17];
static FILE *nowhere;

static uint64_t cpu_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return static_cast<uint64_t>(ts.tv_sec) * 1000000000u + static_cast<uint64_t>(ts.tv_nsec);
}

static void stay(void) { __asm__ volatile(""); } /* behind a call: no jump is made of it, which would end the caller */

NOINLINE void nap(long us)
{
	target_sleep_us(us);
	stay();
}

NOINLINE uint64_t spin(uint64_t us)
{
	uint64_t hash = us, end = cpu_ns() + us * 1000;
	while (cpu_ns() < end)
		hash = target_mix(hash, us);
	return us;
}

NOINLINE ssize_t put(int fd, size_t n)
{
	ssize_t r = write(fd, bytes, n);
	stay();
	return r;
}

NOINLINE void risky(long n)
{
	target_sleep_us(300);
	if (n % 5 == 0)
		throw std::runtime_error("risky");
}

class Store {
	uint64_t found = 0;

      public:
	NOINLINE uint64_t find(long key)
	{
		target_sleep_us(key > 1000 ? 2000 : 200);
		return found += static_cast<uint64_t>(key);
	}
};

template <class F> static void timed(Share *s, const char *name, uint64_t (*now)(void), F call)
{
	uint64_t start = now();
	call();
	s->calls.push_back({name, now() - start});
}

static void round_of(Share *s, int fd)
{
	Store store;
	for (long i = 0; i < 100; i++) {
		long size = i % 10 != 9 ? 0 : i < 99 ? 1 : 2; /* of ten calls nine are small, of a hundred one is large */
		timed(s, "nap", target_now_ns, [&] { nap((const long[]){1000, 10000, 50000}[size]); });
		size_t n = ((const size_t[]){100, 5000, 70000}[size]);
		if (put(fd, n) != static_cast<ssize_t>(n))
			target_bad("write of %zu", n);
		s->sizes.push_back(n);
		if (i % 4 == 0)
			timed(s, "spin", cpu_ns, [&] { s->hash = target_mix(s->hash, spin(i % 20 == 0 ? 2000 : 200)); });
		if (i % 5 == 0)
			timed(s, i % 2 ? "find_large" : "find_small", target_now_ns,
			      [&] { s->hash = target_mix(s->hash, store.find(i % 2 ? 1001 + i : i)); });
		if (i % 10 == 0)
			try {
				risky(i / 10 + s->rounds);
				s->returned++;
			} catch (const std::exception &) {
				s->thrown++;
			}
	}
}

static void *work(void *arg)
{
	Share *s = static_cast<Share *>(arg);
	for (; s->rounds > 0; s->rounds--)
		round_of(s, fileno(nowhere));
	return nullptr;
}

int main(int argc, char **argv)
{
	target_start();
	long rounds = target_arg(argc, argv, 1, 10), threads = target_arg(argc, argv, 2, 5);
	nowhere = fopen("/dev/null", "w");
	target_wait_go();
	std::vector<Share> shares(static_cast<size_t>(threads));
	for (auto &s : shares) {
		s.rounds = rounds / threads;
		pthread_create(&s.thread, nullptr, work, &s);
	}
	uint64_t hash = 0, returned = 0, thrown = 0, calls = 0;
	for (auto &s : shares) {
		pthread_join(s.thread, nullptr);
		hash = target_mix(hash, s.hash);
		returned += s.returned;
		thrown += s.thrown;
	}
	for (auto &s : shares) {
		for (auto &c : s.calls)
			printf("TOOK %s %llu\n", c.name, (unsigned long long)c.ns);
		for (auto n : s.sizes)
			printf("SIZE %zu\n", n);
		calls += s.calls.size();
	}
	target_count("calls", calls);
	target_count("returned", returned);
	target_count("thrown", thrown);
	printf("DONE\n");
	if (target_stdin_open)
		target_wait_stop();
	return target_finish(hash);
}
