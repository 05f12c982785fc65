/* Does to the memory that somebody has mapped into it what a program should not.
 * Lines: "scribble" fills the counters with noise, "ledger" puts noise in the place of the head and the ledger, "unmap" unmaps counters and ledger while no
 * instrumented function is called, "truncate" tries to shrink the memory file. It says DONE <what> afterwards. */
#include "target.h"
#include <fcntl.h>
#include <sys/mman.h>

static volatile int calling = 1;
static uint64_t calls;

NOINLINE uint64_t work(uint64_t x)
{
	calls++;
	return target_mix(x, 5);
}

/* each_mapping calls f for every mapping of the segment whose permissions begin so. */
static int each_mapping(const char *perms, void (*f)(char *lo, size_t n))
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512], got[8];
	unsigned long lo[64], hi[64];
	int n = 0;
	if (!maps)
		target_bad("maps: %s", strerror(errno));
	while (fgets(line, sizeof line, maps))
		if (strstr(line, "/memfd:culprit") && sscanf(line, "%lx-%lx %7s", &lo[n], &hi[n], got) == 3 &&
		    strncmp(got, perms, strlen(perms)) == 0 && n < 63)
			n++;
	fclose(maps);
	for (int i = 0; i < n; i++)
		f((char *)lo[i], hi[i] - lo[i]);
	return n;
}

static void noise(char *p, size_t n)
{
	uint64_t h = 1;
	for (size_t i = 0; i + 8 <= n && i < (8u << 20); i += 8) {
		h = target_mix(h, i);
		memcpy(p + i, &h, 8);
	}
}

static void ruin_ledger(char *p, size_t n)
{
	int fd = memfd_create("culprit", MFD_CLOEXEC);
	if (mprotect(p, n, PROT_READ | PROT_WRITE) == 0)
		target_bad("the ledger can be written to");
	if (fd < 0 || ftruncate(fd, (off_t)n) != 0)
		target_bad("memfd: %s", strerror(errno));
	char *q = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	noise(q, n);
	munmap(q, n);
	if (mmap(p, n, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) != p)
		target_bad("mmap: %s", strerror(errno));
	close(fd);
}

static void drop(char *p, size_t n)
{
	munmap(p, n);
}

static void command(const char *line)
{
	int n = 0;
	if (strcmp(line, "scribble") == 0)
		n = each_mapping("rw", noise);
	if (strcmp(line, "ledger") == 0)
		n = each_mapping("r--s", ruin_ledger);
	if (strcmp(line, "unmap") == 0) {
		calling = 0;
		n = each_mapping("r--s", drop) + each_mapping("rw", drop);
	}
	printf("DONE %d\n", n);
}

int main(void)
{
	target_start();
	target_command = command;
	uint64_t h = work(1);
	while (target_running()) {
		for (int i = 0; calling && i < 50; i++)
			if (work(1) != h)
				target_bad("hash differs");
		target_sleep_us(200);
	}
	target_count("work", calls);
	return target_finish(h);
}
