/* Threads that wait for work with what C++20 has for it: a value that changes, a semaphore, a latch. There is little to do: they are
 * idle, not a bottleneck. atomicpool [milliseconds between jobs] */
#include "target.h"
#include <atomic>
#include <latch>
#include <semaphore>
#include <thread>
#include <vector>

static std::atomic<uint64_t> jobs{0}, done{0};
static std::atomic<bool> closing{false};
static std::counting_semaphore<64> tickets{0};

static void count()
{
	uint64_t h = 0;
	for (int i = 0; i < 1000; i++)
		h = target_mix(h, (uint64_t)i);
	if (h != 0)
		done++;
}

static void on_value()
{
	for (uint64_t seen = 0; !closing;) {
		jobs.wait(seen);
		seen = jobs;
		count();
	}
}

static void on_semaphore()
{
	while (!closing) {
		tickets.acquire();
		count();
	}
}

int main(int argc, char **argv)
{
	enum { WORKERS = 4 };
	target_start();
	long period_ms = target_arg(argc, argv, 1, 500);
	std::latch last{1};
	std::vector<std::thread> threads;
	for (int i = 0; i < WORKERS; i++) {
		threads.emplace_back(on_value);
		threads.emplace_back(on_semaphore);
	}
	threads.emplace_back([&last] { last.wait(); });
	for (uint64_t next = 0; !target_stopping; target_poll(20))
		if (target_now_ns() >= next) {
			jobs++;
			jobs.notify_all();
			tickets.release();
			next = target_now_ns() + (uint64_t)period_ms * 1000000;
		}
	closing = true;
	jobs++;
	jobs.notify_all();
	tickets.release(WORKERS);
	last.count_down();
	for (auto &t : threads)
		t.join();
	target_count("done", done);
	return target_finish(target_mix(9, WORKERS));
}
