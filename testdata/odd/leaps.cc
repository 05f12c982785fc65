// setjmp, sigsetjmp out of a signal handler, and C++ exceptions through many frames, rethrown and with destructors, all at once.
#include "target.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdexcept>

#define THREADS 3

static uint64_t hashes[THREADS], rounds[THREADS];
static thread_local sigjmp_buf from_signal;

struct Counted {
	explicit Counted(int *n) : n(n) { ++*n; }
	~Counted() { --*n; }
	int *n;
};

NOINLINE static uint64_t throw_at(int depth, int *open, uint64_t h)
{
	Counted c(open);
	if (depth == 0)
		throw std::runtime_error("deep");
	try {
		h = throw_at(depth - 1, open, target_mix(h, static_cast<uint64_t>(depth)));
	} catch (const std::runtime_error &) {
		if (depth % 3 == 0)
			throw;
		throw std::runtime_error("again");
	}
	return h;
}

NOINLINE static uint64_t exceptions()
{
	int open = 0;
	try {
		throw_at(12, &open, 1);
	} catch (const std::exception &e) {
		if (open != 0)
			target_bad("%d destructors did not run", open);
		return target_mix(static_cast<uint64_t>(e.what()[0]), 1);
	}
	target_bad("nothing was thrown");
}

NOINLINE static void leap_at(jmp_buf to, int depth)
{
	volatile int here = depth;
	if (depth == 0)
		longjmp(to, 5);
	if (here > 0) // always; the compiler would warn of an endless recursion
		leap_at(to, depth - 1);
	if (here != depth)
		target_bad("a frame changed");
}

NOINLINE static uint64_t leaps()
{
	jmp_buf to;
	volatile uint64_t n = 0;
	int came = setjmp(to);
	if (came == 0)
		leap_at(to, 15);
	n = n + static_cast<uint64_t>(came);
	return n;
}

static void on_signal(int) { siglongjmp(from_signal, 3); }

NOINLINE static uint64_t out_of_signal()
{
	if (sigsetjmp(from_signal, 1) == 0) {
		pthread_kill(pthread_self(), SIGUSR1);
		target_bad("the handler came back");
	}
	return 3;
}

static void *work(void *arg)
{
	long i = static_cast<long>(reinterpret_cast<intptr_t>(arg));
	while (!target_stopping) {
		uint64_t h = target_mix(target_mix(exceptions(), leaps()), out_of_signal());
		if (hashes[i] && h != hashes[i])
			target_bad("thread %ld: another result", i);
		hashes[i] = h;
		rounds[i]++;
	}
	return nullptr;
}

int main()
{
	pthread_t threads[THREADS];
	struct sigaction sa = {};
	target_start();
	sa.sa_handler = on_signal;
	sigaction(SIGUSR1, &sa, nullptr);
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], nullptr, work, reinterpret_cast<void *>(i)) != 0)
			target_bad("pthread_create");
	target_wait_stop();
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], nullptr);
		if (rounds[i] == 0 || hashes[i] != hashes[0])
			target_bad("thread %d differs", i);
	}
	return target_finish(hashes[0]);
}
