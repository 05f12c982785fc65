// Functions that people call by less than their whole names, some that have no code of their own, and one that has lost a parameter. The
// program counts its calls.
extern "C" {
#include "target.h"
}
#include <dlfcn.h>

#define NOINLINE __attribute__((noinline, noclone))

struct Job { int size; };

NOINLINE int handle(Job *job, int a, int b) { __asm__ volatile(""); return job->size + a + b; }
NOINLINE int handle(Job *job) { __asm__ volatile(""); return job->size; }

namespace app {
struct Pool {
	NOINLINE int push(int n) { __asm__ volatile(""); return n + 1; }
	template <class T> NOINLINE T convert(T n) { __asm__ volatile(""); return n * 2; }
};
NOINLINE int only_here(int n) { __asm__ volatile(""); return n - 1; }
namespace {
NOINLINE int hidden(int n) { __asm__ volatile(""); return n * 3; }
}
}

namespace other {
struct Queue {
	NOINLINE int push(int n) { __asm__ volatile(""); return n + 2; }
};
}

// The C library has functions of these names: three that no new program is linked to, the absolute value of an int, and one of the bits of an int.
NOINLINE int step(int n) { __asm__ volatile(""); return n + 4; }
namespace app {
NOINLINE int advance(int n) { __asm__ volatile(""); return n + 5; }
NOINLINE int ffs(int n) { __asm__ volatile(""); return n + 6; }
}
extern "C" NOINLINE int svc_exit(int n) { __asm__ volatile(""); return n + 7; }
NOINLINE int abs(int n, int m) { __asm__ volatile(""); return n + m; }

static inline __attribute__((always_inline)) int twice(int n) { return n * 2 + (n >> 3); }

// The compiler makes a copy of it without the argument that is the same in all calls.
static __attribute__((noinline)) int scaled(int n, int by) { __asm__ volatile(""); return n * by; }

int main(int argc, char **argv)
{
	target_start();
	int rounds = target_arg(argc, argv, 1, 1000);
	int (*first)(int) = nullptr, (*second)(int) = nullptr;
	if (argc > 3) {
		first = (int (*)(int))dlsym(dlopen(argv[2], RTLD_NOW | RTLD_LOCAL), "parse");
		second = (int (*)(int))dlsym(dlopen(argv[3], RTLD_NOW | RTLD_LOCAL), "parse");
		if (!first || !second)
			target_bad("dlopen: %s", dlerror());
	}
	target_wait_go();
	Job job = {3};
	app::Pool pool;
	other::Queue queue;
	int sum = 0, quarter = 0;
	for (int n = 0; n < rounds; n++) {
		sum += handle(&job, n, 1) + handle(&job) + pool.push(n) + queue.push(n) + pool.convert(n) + (int)pool.convert((long)n);
		sum += app::only_here(n) + app::hidden(n) + twice(n) + twice(n + 1) + scaled(n, 5) + step(n) + app::advance(n) + abs(n, 2) + app::ffs(n) + svc_exit(n);
		if (first)
			sum += first(n) + first(n) + second(n);
		quarter += n % 4 == 0;
	}
	target_count("one", rounds);
	target_count("two", 2 * rounds);
	target_count("three", 3 * rounds);
	printf("DONE\n");
	if (target_stdin_open)
		target_wait_stop();
	return target_finish((unsigned)(sum + quarter));
}
