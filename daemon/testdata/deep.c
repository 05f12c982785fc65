/* One thread that works where it is shallow until it is told "deep". Then it goes down its main stack until less than 2 KiB of the present
 * mapping are below it, deeper than it ever was, and works there until it is told to stop; with "swing", at the limit of its stack, it
 * comes up every 20 ms and works above for two. All its frames are looked at on the way up. */
#include "../../testdata/targets/target.h"
#include <sys/resource.h>

static volatile int go_deep, swing;
static uintptr_t low, high;
static uint64_t until;

NOINLINE uint64_t leaf(uint64_t h, uint64_t x) { return target_mix(h, x); }

NOINLINE void say(const char *s)
{
	if (write(1, s, strlen(s)) < 0)
		_exit(TARGET_BAD);
}

/* work goes on until it is told something else, and needs little stack itself. */
NOINLINE void work(int deep)
{
	struct pollfd p = {0, POLLIN, 0};
	uint64_t want = 1;
	for (int i = 0; i < 1000; i++)
		want = leaf(want, (uint64_t)i);
	for (long n = 0; !target_stopping && (deep || !go_deep) && (!until || target_now_ns() < until); n++) {
		uint64_t h = 1;
		for (int i = 0; i < 1000; i++)
			h = leaf(h, (uint64_t)i);
		if (h != want) {
			say("BAD work\n");
			_exit(TARGET_BAD);
		}
		if (n % 20 == 0)
			say("BEAT 1\n");
		if (poll(&p, 1, 1) > 0)
			target_read_stdin();
	}
}

NOINLINE uint64_t down(uint64_t n)
{
	volatile uint64_t frame[40];
	for (uint64_t i = 0; i < 40; i++)
		frame[i] = n * 40 + i;
	if ((uintptr_t)frame - low < 1500) {
		say("DEEP\n");
		work(1);
	} else if (down(n + 1) != n + 1) {
		target_bad("depth");
	}
	for (uint64_t i = 0; i < 40; i++)
		if (frame[i] != n * 40 + i)
			target_bad("a frame has changed");
	return n;
}

static void lowest(void)
{
	char line[400];
	FILE *f = fopen("/proc/self/maps", "r");
	while (f && fgets(line, sizeof line, f))
		if (strstr(line, "[stack]"))
			sscanf(line, "%lx-%lx", &low, &high);
	if (f)
		fclose(f);
}

static void on_line(const char *line)
{
	swing = strcmp(line, "swing") == 0;
	go_deep = swing || strcmp(line, "deep") == 0;
}

int main(void)
{
	target_start();
	target_command = on_line;
	say("READY 1\n");
	work(0);
	lowest();
	if (swing) { /* it is as long as it may be */
		struct rlimit r = {high - low, RLIM_INFINITY};
		setrlimit(RLIMIT_STACK, &r);
	}
	while (!target_stopping) {
		until = swing ? target_now_ns() + 20000000 : 0;
		down(1);
		until = target_now_ns() + 2000000;
		if (swing)
			work(1);
	}
	return target_finish(target_mix(3, 3));
}
