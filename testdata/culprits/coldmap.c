// Cause: a reader of a mapped file waits for the disk at each record: the page that it lies on is not in memory (the program has the
// kernel forget it, as a machine with too little memory does), in read_record().
// Right: PageFaultTimeHigh|MajorFaultTimeHigh at read_record()
// Args: FILE
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 32 << 10, AHEAD = 256 };

static volatile uint64_t sum;

__attribute__((noinline)) static void read_record(const char *record)
{
	sum += (uint64_t)record[0] + (uint64_t)record[100];
}

// Gives the pages of the last records back, in the file's cache as well.
__attribute__((noinline)) static void forget(int fd, char *map)
{
	madvise(map, (size_t)PAGES * PAGE, MADV_DONTNEED);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
}

int main(int argc, char **argv)
{
	static char page[PAGE];
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	if (fd < 0)
		return 1;
	for (int i = 0; i < PAGES; i++) {
		memset(page, i, sizeof page);
		if (write(fd, page, sizeof page) != sizeof page)
			return 1;
	}
	if (fsync(fd) != 0)
		return 1;
	char *map = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED || madvise(map, (size_t)PAGES * PAGE, MADV_RANDOM) != 0)
		return 1;
	puts("ready");
	fflush(stdout);
	uint64_t x = 88172645463325252u;
	for (unsigned n = 0;; n++) {
		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		if (n % AHEAD == 0)
			forget(fd, map);
		read_record(map + x % PAGES * PAGE);
	}
}
