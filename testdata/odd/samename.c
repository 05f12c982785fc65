/* Has memory files that are called like those of culprit, opens and maps them while it is measured, and looks after what is in them. */
#include "target.h"
#include <sys/mman.h>

enum { SIZE = 1 << 16 };

static uint64_t h;

/* look says that a piece of memory holds what was put there. */
NOINLINE void look(const unsigned char *p, unsigned char value)
{
	for (int i = 0; i < SIZE; i += 64) {
		if (p[i] != value)
			target_bad("byte %d is %d instead of %d", i, p[i], value);
		h = target_mix(h, p[i]);
	}
}

NOINLINE int open_one(void)
{
	int fd = memfd_create("culprit", 0);
	if (fd < 0 || ftruncate(fd, SIZE) != 0)
		target_bad("memfd_create: %s", strerror(errno));
	return fd;
}

NOINLINE unsigned char *map_one(int fd, int prot)
{
	unsigned char *p = mmap(NULL, SIZE, prot, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		target_bad("mmap of descriptor %d: %s", fd, strerror(errno));
	return p;
}

int main(void)
{
	target_start();
	int kept = open_one();
	unsigned char *always = map_one(kept, PROT_READ | PROT_WRITE), *seen = map_one(kept, PROT_READ);
	memset(always, 7, SIZE);
	target_wait_go();
	while (target_running()) {
		int fd = open_one();
		target_sleep_us(300000); /* open and not mapped */
		unsigned char *p = map_one(fd, PROT_READ | PROT_WRITE);
		memset(p, 9, SIZE);
		close(fd);
		for (int i = 0; i < 20; i++) {
			look(always, 7), look(seen, 7), look(p, 9);
			target_sleep_us(10000);
		}
		munmap(p, SIZE);
	}
	if (ftruncate(kept, SIZE) != 0)
		target_bad("descriptor %d: %s", kept, strerror(errno));
	return target_finish(target_mix(20, 20));
}
