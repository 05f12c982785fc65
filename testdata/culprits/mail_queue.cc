// Cause: the one consumer is slow (it sleeps in deliver_mail() to keep a rate), the queue is always full, and the three producers wait on not_full.
// Right: ExcessiveSyncWaitingTime at lock not_full
// Right: ExcessiveSyncWaitingTime at submit_mail()
// Right: ExcessiveSyncWaitingTime at deliver_mail()
// Never: compose_mail()

// Mail goes through a bounded queue from three writers to one sender.
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

static const size_t capacity = 16;

static std::mutex queue_mutex;
static std::condition_variable not_full;
static std::condition_variable not_empty;
static std::deque<std::string> queue;
static size_t bytes_sent;

__attribute__((noinline)) static std::string compose_mail(unsigned n)
{
	std::string text = "To: user" + std::to_string(n % 500) + "\n\n";
	for (int i = 0; i < 30; i++)
		text += "Line " + std::to_string(i) + " of your report.\n";
	return text;
}

__attribute__((noinline)) static void submit_mail(std::string mail)
{
	std::unique_lock<std::mutex> hold(queue_mutex);
	not_full.wait(hold, [] { return queue.size() < capacity; });
	queue.push_back(std::move(mail));
	not_empty.notify_one();
}

static std::string next_mail()
{
	std::unique_lock<std::mutex> hold(queue_mutex);
	not_empty.wait(hold, [] { return !queue.empty(); });
	std::string mail = std::move(queue.front());
	queue.pop_front();
	not_full.notify_one();
	return mail;
}

// The mail server takes at most some hundred mails a second.
__attribute__((noinline)) static void deliver_mail(const std::string &mail)
{
	bytes_sent += mail.size();
	std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

int main()
{
	std::vector<std::thread> threads;
	for (unsigned p = 0; p < 3; p++)
		threads.emplace_back([p] {
			for (unsigned n = p;; n += 3)
				submit_mail(compose_mail(n));
		});
	threads.emplace_back([] {
		for (;;)
			deliver_mail(next_mail());
	});
	std::puts("ready");
	std::fflush(stdout);
	for (auto &t : threads)
		t.join();
}
