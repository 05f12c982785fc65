// Cause: render_page takes its buffer from mmap and gives it back each time, so that the kernel maps, clears and unmaps the same memory again and again.
// Right: FrequentMappingOps|SystemTimeHigh|SystemCallTimeHigh|PageFaultTimeHigh at *
// Never: lay_out()
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BUFFER = 16 << 10, COLUMNS = 64 };

__attribute__((noinline)) uint64_t lay_out(const char *text, uint64_t page)
{
	uint64_t width = page;
	for (int i = 0; i < COLUMNS; i++) width = width * 33 + (unsigned char)text[i * 64];
	return width;
}

__attribute__((noinline)) uint64_t render_page(uint64_t page)
{
	char *buffer = mmap(NULL, BUFFER, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buffer == MAP_FAILED) exit(1);
	memset(buffer, (int)page, BUFFER);
	uint64_t width = lay_out(buffer, page);
	if (munmap(buffer, BUFFER)) exit(1);
	return width;
}

int main(void)
{
	puts("ready");
	fflush(stdout);
	volatile uint64_t sum = 0;
	for (uint64_t page = 0;; page++) sum += render_page(page);
}
