// Sixteen mutexes of every place that a mutex can have: global, static in a file and in a function, in a global object and in one of
// its bases, in an array, on the heap, behind a pointer. A holder takes each in its turn for 4 ms, while waiters wait for it;
// each waiter keeps account of what it waited for each mutex.
// "warm" has them all taken a few times before.
// mutexes [rounds]
#include "target.h"
#include <atomic>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <sys/resource.h>
#include <thread>
#include <vector>

enum { MUTEXES = 16, WAITERS = 2 };

pthread_mutex_t global_lock = PTHREAD_MUTEX_INITIALIZER;
std::mutex global_mutex;
static pthread_mutex_t file_lock = PTHREAD_MUTEX_INITIALIZER;
static std::recursive_mutex file_mutex;

struct Cache {
	long entries;
	pthread_mutex_t lock;
	std::mutex stats;
};
Cache cache = {1, PTHREAD_MUTEX_INITIALIZER, {}};

struct Guarded {
	long users;
	std::mutex guard;
};
struct Table : Guarded {
	long rows;
	struct {
		long generation;
		std::mutex change;
	} schema;
};
static Table table;

pthread_mutex_t shards[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
struct Bucket {
	long items;
	std::mutex lock;
};
Bucket buckets[4];

// A Queue locks itself: its address is known to its methods only.
class Queue {
	long length = 0;
	std::mutex lock;

public:
	NOINLINE void push(void (*locked)(void *), void *arg)
	{
		lock.lock();
		locked(arg);
		length++;
		lock.unlock();
	}
	NOINLINE long size() { return length; }
};

// A pool of C: a function is given a pointer to it.
struct pool {
	void *free;
	pthread_mutex_t mutex;
	long taken;
};

static pthread_mutex_t *function_lock()
{
	static pthread_mutex_t in_function = PTHREAD_MUTEX_INITIALIZER;
	return &in_function;
}

static Queue *queue = new Queue;
static pool *pools;
static pthread_mutex_t *bare; // allocated as it is: nothing tells of which type it is

static std::atomic<int> turn(-1), served, holder_tid;
static std::atomic<uint64_t> waited[MUTEXES], taken[MUTEXES], contended[MUTEXES];
static std::atomic<bool> ended;

NOINLINE void take_pool(pool *p, void (*locked)(void *), void *arg)
{
	pthread_mutex_lock(&p->mutex);
	locked(arg);
	p->taken++;
	pthread_mutex_unlock(&p->mutex);
}

template <class M> static void take(M &m, void (*locked)(void *), void *arg)
{
	m.lock();
	locked(arg);
	m.unlock();
}

static void take_posix(pthread_mutex_t *m, void (*locked)(void *), void *arg)
{
	pthread_mutex_lock(m);
	locked(arg);
	pthread_mutex_unlock(m);
}

// visit takes mutex i, calls locked, and lets it go.
NOINLINE void visit(int i, void (*locked)(void *), void *arg)
{
	taken[i]++;
	switch (i) {
	case 0: return take_posix(&global_lock, locked, arg);
	case 1: return take(global_mutex, locked, arg);
	case 2: return take_posix(&file_lock, locked, arg);
	case 3: return take(file_mutex, locked, arg);
	case 4: return take_posix(function_lock(), locked, arg);
	case 5: return take_posix(&cache.lock, locked, arg);
	case 6: return take(cache.stats, locked, arg);
	case 7: return take(table.guard, locked, arg);
	case 8: return take(table.schema.change, locked, arg);
	case 9: return take_posix(&shards[0], locked, arg);
	case 10: return take_posix(&shards[2], locked, arg);
	case 11: return take(buckets[1].lock, locked, arg);
	case 12: return take(buckets[3].lock, locked, arg);
	case 13: return queue->push(locked, arg);
	case 14: return take_pool(&pools[1], locked, arg);
	case 15: return take_posix(bare, locked, arg);
	}
}

static void hold(void *arg)
{
	turn = *(int *)arg;
	target_sleep_us(4000 + 100 * turn);
}

// A Visit is what a waiter sees when it has the mutex.
struct Visit {
	uint64_t got;
	long slept; // how often it had gone to sleep
};

static long sleeps()
{
	struct rusage u;
	getrusage(RUSAGE_THREAD, &u);
	return u.ru_nvcsw;
}

static void look(void *arg)
{
	Visit *v = (Visit *)arg;
	*v = {target_now_ns(), sleeps()};
}

static void holder(long rounds)
{
	holder_tid = (int)gettid();
	for (long r = 0; r < rounds; r++)
		for (int i = 0; i < MUTEXES; i++) {
			served = 0;
			visit(i, hold, &i);
			while (served < WAITERS)
				target_sleep_us(200);
			turn = -1;
		}
	ended = true;
}

static void waiter()
{
	int last = -1;
	while (!ended) {
		int i = turn;
		if (i < 0 || i == last) {
			if (i < 0)
				last = -1;
			target_sleep_us(100);
			continue;
		}
		last = i;
		Visit v;
		long before = sleeps();
		uint64_t from = target_now_ns();
		visit(i, look, &v);
		waited[i] += v.got - from;
		contended[i] += v.slept != before;
		served++;
	}
}

// run has all mutexes taken that many times by each thread.
static void run(long rounds)
{
	std::vector<std::thread> threads;
	ended = false;
	for (int i = 0; i < MUTEXES; i++)
		waited[i] = taken[i] = contended[i] = 0;
	for (int i = 0; i < WAITERS; i++)
		threads.emplace_back(waiter);
	threads.emplace_back(holder, rounds);
	while (!ended) // joining now would be waiting, too
		target_poll(20);
	target_sleep_us(100000); // so that nobody is waited for when they are joined
	for (auto &t : threads)
		t.join();
}

static bool warm;
static void command(const char *line) { warm = strcmp(line, "warm") == 0; }

int main(int argc, char **argv)
{
	target_start();
	target_command = command;
	long rounds = target_arg(argc, argv, 1, 20);
	pools = (pool *)calloc(3, sizeof(pool));
	bare = (pthread_mutex_t *)calloc(1, sizeof *bare);
	char name[32];
	for (int i = 0; i < 3; i++)
		pthread_mutex_init(&pools[i].mutex, nullptr);
	pthread_mutex_init(bare, nullptr);
	printf("ADDRESS 13 %p\nADDRESS 14 %p\nADDRESS 15 %p\n", (void *)((char *)queue + 8), (void *)&pools[1].mutex, (void *)bare);
	while (!target_going) {
		target_poll(20);
		if (warm) {
			run(8);
			warm = false;
			puts("WARM");
		}
	}
	run(rounds);
	for (int i = 0; i < MUTEXES; i++) {
		snprintf(name, sizeof name, "waited%d", i);
		target_count(name, waited[i]);
		snprintf(name, sizeof name, "taken%d", i);
		target_count(name, taken[i]);
		snprintf(name, sizeof name, "contended%d", i);
		target_count(name, contended[i]);
	}
	target_count("holder", (uint64_t)holder_tid);
	puts("DONE");
	target_wait_stop();
	return target_finish(target_mix(16, (uint64_t)(rounds + (queue->size() > 0))));
}
