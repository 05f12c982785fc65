// Cause: two equal causes: half of the time the crawler waits for the fetcher's pipe, half of the time it computes in mix_hash(), called from many places.
// Right: CPUbound at mix_hash()
// Right: ExcessiveIOBlockingTime at fetch_page()
// Right: ExcessiveIOBlockingTime at pipe
// Never: index_title()
// Never: index_headings()
// Never: index_links()
// Never: index_body()
// Never: index_images()

// A crawler that fetches a page through a helper process and indexes it.
// The fetcher is polite: it waits as long as the last page took to index.
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096

static int to_fetcher[2], from_fetcher[2];
static uint64_t table[4096];

static long now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void run_fetcher(void)
{
	long pause_ns;
	char page[PAGE];
	unsigned n = 0;
	while (read(to_fetcher[0], &pause_ns, sizeof pause_ns) == sizeof pause_ns) {
		struct timespec t = {pause_ns / 1000000000L, pause_ns % 1000000000L};
		nanosleep(&t, NULL);
		for (int i = 0; i < PAGE; i++)
			page[i] = (char)('a' + (i * 7 + (int)n) % 26);
		n++;
		if (write(from_fetcher[1], page, PAGE) != PAGE)
			break;
	}
	_exit(0);
}

__attribute__((noinline)) static uint64_t mix_hash(const char *s, int len, uint64_t h)
{
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < len; i++) {
			h ^= (unsigned char)s[i];
			h *= 0x100000001b3u;
			h ^= h >> 29;
		}
	}
	return h;
}

__attribute__((noinline)) static void index_title(const char *page)
{
	table[mix_hash(page, 64, 1) % 4096]++;
}

__attribute__((noinline)) static void index_headings(const char *page)
{
	for (int i = 0; i < 16; i++)
		table[mix_hash(page + i * 100, 48, 2) % 4096]++;
}

__attribute__((noinline)) static void index_links(const char *page)
{
	for (int i = 0; i < 60; i++)
		table[mix_hash(page + i * 60, 60, 3) % 4096]++;
}

__attribute__((noinline)) static void index_images(const char *page)
{
	for (int i = 0; i < 50; i++)
		table[mix_hash(page + i * 70, 70, 4) % 4096]++;
}

__attribute__((noinline)) static void index_body(const char *page)
{
	for (int i = 0; i + 32 <= PAGE; i += 32)
		table[mix_hash(page + i, 32, 5) % 4096]++;
}

__attribute__((noinline)) static void fetch_page(char *page, long pause_ns)
{
	if (write(to_fetcher[1], &pause_ns, sizeof pause_ns) != sizeof pause_ns)
		exit(1);
	int got = 0;
	while (got < PAGE) {
		ssize_t n = read(from_fetcher[0], page + got, (size_t)(PAGE - got));
		if (n <= 0)
			exit(1);
		got += (int)n;
	}
}

int main(void)
{
	char page[PAGE];
	long took = 10000000;
	if (pipe(to_fetcher) != 0 || pipe(from_fetcher) != 0)
		return 1;
	if (fork() == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(to_fetcher[1]);
		close(from_fetcher[0]);
		run_fetcher();
	}
	close(to_fetcher[0]);
	close(from_fetcher[1]);
	puts("ready");
	fflush(stdout);
	for (;;) {
		fetch_page(page, took);
		long start = now_ns();
		for (int language = 0; language < 10; language++) {
			index_title(page);
			index_headings(page);
			index_links(page);
			index_images(page);
			index_body(page);
		}
		took = now_ns() - start;
	}
}
