// A thread waits in each way that ends in the kernel's futex: by itself, in C++ atomics, semaphores and latches, and in POSIX
// condition variables and mutexes below the C++ ones. Another thread lets it wait for 5 ms each time.
// waits [rounds]
#include "target.h"
#include <atomic>
#include <condition_variable>
#include <latch>
#include <linux/futex.h>
#include <mutex>
#include <semaphore>
#include <sys/syscall.h>
#include <thread>

static uint64_t own_calls, own_ns, atomic_ns, semaphore_ns, latch_ns, condition_ns, mutex_ns;
static std::atomic<int> turn; // what the waiter waits for now; negative once it may be let go
std::atomic<int> word;
int futex_word;
static std::counting_semaphore<1> tickets(0);
static std::latch *gate;
static std::mutex guard;
static std::condition_variable changed;
static bool ready;
static std::atomic<bool> done;

enum { NOTHING, OWN, ATOMIC, SEMAPHORE, LATCH, CONDITION, MUTEX, END };

// begin tells the partner what is about to be waited for, and returns the time.
static uint64_t begin(int what)
{
	turn = what;
	return target_now_ns();
}

// settled waits, without any lock, until the partner has nothing more to do for the last wait.
static void settled()
{
	while (turn != NOTHING)
		target_sleep_us(100);
}

NOINLINE void wait_own()
{
	__atomic_store_n(&futex_word, 0, __ATOMIC_SEQ_CST);
	uint64_t t = begin(OWN);
	while (__atomic_load_n(&futex_word, __ATOMIC_SEQ_CST) == 0) {
		own_calls++;
		syscall(SYS_futex, &futex_word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
	}
	own_ns += target_now_ns() - t;
	settled();
}

NOINLINE void wait_atomic()
{
	word = 0;
	uint64_t t = begin(ATOMIC);
	word.wait(0);
	atomic_ns += target_now_ns() - t;
	settled();
}

NOINLINE void wait_semaphore()
{
	uint64_t t = begin(SEMAPHORE);
	tickets.acquire();
	semaphore_ns += target_now_ns() - t;
	settled();
}

NOINLINE void wait_latch()
{
	std::latch one(1);
	gate = &one;
	uint64_t t = begin(LATCH);
	one.wait();
	latch_ns += target_now_ns() - t;
	settled();
}

NOINLINE void wait_condition()
{
	std::unique_lock<std::mutex> l(guard);
	ready = false;
	uint64_t t = begin(CONDITION);
	while (!ready)
		changed.wait(l);
	condition_ns += target_now_ns() - t;
	l.unlock();
	settled();
}

NOINLINE void wait_mutex()
{
	turn = MUTEX;
	while (turn == MUTEX) // until the partner has it
		target_sleep_us(100);
	uint64_t t = target_now_ns();
	guard.lock();
	mutex_ns += target_now_ns() - t;
	guard.unlock();
	settled();
}

static void partner()
{
	for (;;) {
		int what = turn;
		if (what == END)
			return;
		if (what <= NOTHING) {
			target_sleep_us(100);
			continue;
		}
		if (what == MUTEX) {
			guard.lock();
			turn = -MUTEX;
		}
		target_sleep_us(5000);
		switch (what) {
		case OWN:
			__atomic_store_n(&futex_word, 1, __ATOMIC_SEQ_CST);
			syscall(SYS_futex, &futex_word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
			break;
		case ATOMIC:
			word = 1;
			word.notify_one();
			break;
		case SEMAPHORE:
			tickets.release();
			break;
		case LATCH:
			gate->count_down();
			break;
		case CONDITION: {
			std::lock_guard<std::mutex> l(guard);
			ready = true;
			changed.notify_one();
			break;
		}
		case MUTEX:
			guard.unlock();
		}
		turn = NOTHING;
	}
}

static void waiter(long rounds)
{
	for (long i = 0; i < rounds; i++) {
		wait_own();
		wait_atomic();
		wait_semaphore();
		wait_latch();
		wait_condition();
		wait_mutex();
	}
	turn = END;
	done = true;
}

int main(int argc, char **argv)
{
	target_start();
	long rounds = target_arg(argc, argv, 1, 10);
	target_wait_go();
	std::thread a(waiter, rounds), b(partner);
	while (!done) // joining now would be waiting, too
		target_poll(20);
	a.join();
	b.join();
	target_count("own", own_ns);
	target_count("own_calls", own_calls);
	target_count("atomic", atomic_ns);
	target_count("semaphore", semaphore_ns);
	target_count("latch", latch_ns);
	target_count("condition", condition_ns);
	target_count("mutex", mutex_ns);
	puts("DONE");
	target_wait_stop();
	return target_finish(target_mix(13, (uint64_t)rounds));
}
