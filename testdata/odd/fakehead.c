/* A program that looks as if an earlier culprit had been killed in it: it maps a memory file of that name. The head names any process as
 * the one that did it, or the ledger has as many entries as it is told.
 * fakehead VERSION PID START CAPACITY */
#include "target.h"
#include <sys/mman.h>

enum { PAGE = 4096, ENTRY = 64, CHUNK = 64 << 10 };

static uint32_t crc32_of(const unsigned char *b, size_t n)
{
	uint32_t c = ~0u;
	while (n--) {
		c ^= *b++;
		for (int i = 0; i < 8; i++)
			c = c >> 1 ^ (c & 1 ? 0xEDB88320 : 0);
	}
	return ~c;
}

NOINLINE uint64_t work(uint64_t h)
{
	for (int i = 0; i < 1000; i++)
		h = target_mix(h, i);
	return h;
}

int main(int argc, char **argv)
{
	uint64_t h = 0, capacity = target_arg(argc, argv, 4, 0), bytes = (capacity * ENTRY + CHUNK - 1) / CHUNK * CHUNK;
	int fd = memfd_create("culprit", MFD_CLOEXEC);
	target_start();
	if (argc < 5 || fd < 0 || ftruncate(fd, PAGE + CHUNK))
		target_bad("cannot start");
	char *mem = mmap(NULL, PAGE + CHUNK, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char *at = mmap(NULL, PAGE + bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (mem == MAP_FAILED || at == MAP_FAILED)
		target_bad("no memory");
	uint64_t *word = (uint64_t *)(mem + 8);
	memcpy(mem, "culprit", 7);
	mem[7] = (char)atoi(argv[1]);
	word[0] = strtoull(argv[2], NULL, 10);
	word[1] = strtoull(argv[3], NULL, 10);
	word[2] = (uint64_t)getpid();
	word[5] = 2048, word[6] = 1 << 15, word[7] = capacity, word[8] = 256 << 20;
	for (int i = 0; i < CHUNK / ENTRY; i++) {
		char *e = mem + PAGE + i * ENTRY;
		*(uint64_t *)e = (uint64_t)(uintptr_t)work + i;
		e[8] = 5;
		memcpy(e + 16, (char *)work + i, 5);
		memcpy(e + 32, (char *)work + i, 5);
		*(uint32_t *)(e + 56) = crc32_of((unsigned char *)e, 48);
		*(uint32_t *)(e + 60) = 2;
	}
	mmap(at, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0);
	for (uint64_t off = 0; off < bytes; off += CHUNK)
		if (mmap(at + PAGE + off, CHUNK, PROT_READ, MAP_SHARED | MAP_FIXED, fd, PAGE) == MAP_FAILED)
			target_bad("too many mappings");
	munmap(mem, PAGE + CHUNK);
	close(fd);
	while (target_running()) {
		h = 1;
		target_sleep_us(1000);
	}
	return target_finish(h);
}
