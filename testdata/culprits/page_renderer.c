// Cause: each request takes a fresh buffer of 1 MB from the kernel and gives it back, so the CPU time goes to page faults when it is filled.
// Right: PageFaultTimeHigh at render_page()
// Right: SystemTimeHigh at render_page()
// Never: checksum()

// A renderer that allocates its output for each request. It wants freed
// memory to go back to the system, so it sets a low mmap threshold.
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_SIZE (1 << 20)

static volatile uint32_t sink;

__attribute__((noinline)) static void render_page(char *out, unsigned request)
{
	memset(out, ' ', PAGE_SIZE);
	for (int line = 0; line < 200; line++)
		snprintf(out + line * 128, 128, "line %d of request %u", line, request);
}

__attribute__((noinline)) static uint32_t checksum(const char *page)
{
	uint32_t sum = 0;
	for (int i = 0; i < PAGE_SIZE; i += 256)
		sum = sum * 31 + (unsigned char)page[i];
	return sum;
}

static void handle_request(unsigned request)
{
	char *page = malloc(PAGE_SIZE);
	if (!page)
		abort();
	render_page(page, request);
	sink += checksum(page);
	free(page);
}

int main(void)
{
	mallopt(M_MMAP_THRESHOLD, 64 * 1024);
	puts("ready");
	fflush(stdout);
	for (unsigned request = 0;; request++)
		handle_request(request);
}
