/* Functions that are left by an exception or by longjmp. The program measures itself how long each took, in ns, and how often tick() was
   called from it. Nothing else is called tick() from but other(), which stands where those that were left stood. */
#include "target.h"
#include <csetjmp>
#include <csignal>
#include <stdexcept>
#include <string>
#include <pthread.h>


static jmp_buf back;
static sigjmp_buf trap;
static long ticks;

extern "C" {
NOINLINE void tick(void) { ticks++; __asm__ volatile("" : : : "memory"); }

/* spin calls tick() n times, and lasts for us microseconds. */
NOINLINE static void spin(int us, int n)
{
	for (uint64_t until = target_now_ns() + us * 1000ull; target_now_ns() < until;)
		;
	while (n--)
		tick();
}

NOINLINE void thrower(int us) { spin(us, 2); throw std::runtime_error("left"); }
NOINLINE void through(int us) { std::string s(us, 'x'); spin(us, 3); thrower(us); __asm__ volatile("" : : "r"(s.data())); }
NOINLINE void jumper(int us) { spin(us, 5); longjmp(back, 1); }
NOINLINE void jumped(int us) { spin(us, 7); jumper(us); }
NOINLINE void trapped(int us) { spin(us, 11); raise(SIGUSR1); __asm__ volatile("" : : : "memory"); }
NOINLINE void other(int us) { spin(us, 1000); }

NOINLINE int catcher(int us)
{
	int caught = 0;
	try {
		thrower(us);
	} catch (std::exception &) {
		caught = 1;
	}
	spin(us, 13);
	return caught;
}

/* again calls itself and catches what the inner one throws. */
NOINLINE void again(int n, int us)
{
	spin(us, 17);
	if (n == 0)
		throw n;
	try {
		again(n - 1, us);
	} catch (int) {
		spin(us, 19);
	}
	if (n == 2)
		throw n;
}
}

/* The destructor is no part of what has thrown. */
struct Guard {
	int us;
	~Guard() { spin(us, 23); }
};

extern "C" {
NOINLINE void guarded(int us) { Guard g = {us}; thrower(us); __asm__ volatile("" : : "r"(&g)); }

NOINLINE void item(int us, int i)
{
	spin(us, 29);
	if (i == 2)
		thrower(us);
}

/* loops is left by an exception while its loop runs, if n is more than 2. */
NOINLINE void loops(int us, int n)
{
	for (volatile int i = 0; i < n; i++)
		item(us, i);
}

/* catches handles what leaves its loop. */
NOINLINE void catches(int us)
{
	try {
		for (volatile int i = 0; i < 5; i++)
			item(us, i);
	} catch (std::exception &) {
		spin(us, 41);
	}
}

NOINLINE void hop(int us, int i)
{
	spin(us, 43);
	if (i == 2)
		jumper(us);
}

/* leaps jumps out of its loop to where it has called setjmp itself. */
NOINLINE void leaps(int us)
{
	if (setjmp(back)) {
		spin(us, 47);
		return;
	}
	for (volatile int i = 0; i < 5; i++)
		hop(us, i);
}

static uint64_t quits_ns, sleeps_ns;

NOINLINE void quits(int us)
{
	uint64_t t = target_now_ns();
	spin(us, 31);
	quits_ns += target_now_ns() - t;
	pthread_exit(0);
}

NOINLINE void sleeps(int us)
{
	struct Slept {
		uint64_t t = target_now_ns();
		~Slept() { sleeps_ns += target_now_ns() - t; }
	} slept;
	spin(us, 37);
	for (;;)
		usleep(100000);
}
}

template <class F> static void in_thread(F f, bool cancel = false)
{
	pthread_t t;
	pthread_create(&t, 0, [](void *p) -> void * { (*(F *)p)(); return 0; }, &f);
	if (cancel) {
		usleep(2000);
		pthread_cancel(t);
	}
	pthread_join(t, 0);
}

static void handler(int) { siglongjmp(trap, 1); }

template <class F> static uint64_t timed(F f)
{
	uint64_t t = target_now_ns();
	try {
		f();
	} catch (std::exception &) {
	} catch (int) {
	}
	return target_now_ns() - t;
}

int main(int argc, char **argv)
{
	target_start();
	int rounds = target_arg(argc, argv, 1, 200), us = 500;
	signal(SIGUSR1, handler);
	target_wait_go();
	uint64_t through_ns = 0, jumped_ns = 0, trapped_ns = 0, catcher_ns = 0, again_ns = 0, loop_ns = 0, catches_ns = 0, other_ns = 0;
	for (int n = 0; n < rounds; n++) {
		timed([&] { thrower(us); });
		other_ns += timed([&] { other(us); });
		through_ns += timed([&] { through(us); });
		other_ns += timed([&] { other(us); });
		jumped_ns += timed([&] { if (!setjmp(back)) jumped(us); });
		other_ns += timed([&] { other(us); });
		trapped_ns += timed([&] { if (!sigsetjmp(trap, 1)) trapped(us); });
		other_ns += timed([&] { other(us); });
		catcher_ns += timed([&] { catcher(us); });
		again_ns += timed([&] { again(2, us); });
		other_ns += timed([&] { other(us); });
		timed([&] { guarded(us); });
		other_ns += timed([&] { other(us); });
		loop_ns += timed([&] { loops(us, 5); });
		other_ns += timed([&] { other(us); });
		loop_ns += timed([&] { loops(us, 2); });
		leaps(us);
		other_ns += timed([&] { other(us); });
		catches_ns += timed([&] { catches(us); });
		other_ns += timed([&] { other(us); });
		if (n % 10 == 0) {
			in_thread([&] { quits(us); });
			in_thread([&] { other_ns += timed([&] { other(us); }); });
			in_thread([&] { sleeps(us); }, true);
			in_thread([&] { other_ns += timed([&] { other(us); }); });
		}
	}
	target_count("through", through_ns);
	target_count("jumped", jumped_ns);
	target_count("trapped", trapped_ns);
	target_count("catcher", catcher_ns);
	target_count("again", again_ns);
	target_count("other", other_ns);
	target_count("catches", catches_ns);
	target_count("quits", quits_ns);
	target_count("sleeps", sleeps_ns);
	target_count("loops/loop_1", loop_ns);
	target_count("rounds", rounds);
	printf("DONE\n");
	if (target_stdin_open)
		target_wait_stop();
	return target_finish((unsigned long)ticks);
}
