// Cause: one thread computes all the time, in compact_segments(). The sixteen workers of the pool have nothing to do but some
// twenty short jobs a second, and do not matter.
// Right: CPUbound at compact_segments()
// Never: Pool::take_job()
// Never: Pool::run_worker()
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

class Pool {
public:
	explicit Pool(int workers)
	{
		for (int i = 0; i < workers; i++)
			threads.emplace_back([this] { run_worker(); });
	}

	void submit(std::function<void()> job)
	{
		{
			std::lock_guard<std::mutex> hold(lock);
			jobs.push_back(std::move(job));
		}
		available.notify_one();
	}

	void join()
	{
		for (auto &t : threads)
			t.join();
	}

private:
	__attribute__((noinline)) std::function<void()> take_job()
	{
		std::unique_lock<std::mutex> hold(lock);
		available.wait(hold, [this] { return !jobs.empty(); });
		auto job = std::move(jobs.front());
		jobs.pop_front();
		return job;
	}

	__attribute__((noinline)) void run_worker()
	{
		for (;;)
			take_job()();
	}

	std::mutex lock;
	std::condition_variable available;
	std::deque<std::function<void()>> jobs;
	std::vector<std::thread> threads;
};

static std::vector<uint64_t> segment(1 << 15);
static volatile uint64_t sum;

__attribute__((noinline)) static void compact_segments()
{
	uint64_t h = 1;
	for (auto &key : segment) {
		for (int i = 0; i < 16; i++)
			h = (h ^ key ^ (h >> 13)) * 1099511628211u;
		key = h;
	}
	sum = h;
}

__attribute__((noinline)) static void report_health(int n)
{
	sum = sum + n;
}

int main()
{
	Pool pool(16);
	std::thread compactor([] {
		for (;;)
			compact_segments();
	});
	std::puts("ready");
	std::fflush(stdout);
	for (int n = 0;; n++) {
		std::this_thread::sleep_for(std::chrono::milliseconds(50));
		pool.submit([n] { report_health(n); });
	}
}
