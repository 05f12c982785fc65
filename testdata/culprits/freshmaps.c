// Cause: each frame is drawn into memory that was just mapped and is unmapped again; most of the CPU time are the page faults
// of that fresh memory in clear_frame().
// Right: PageFaultTimeHigh at clear_frame()
// Right: PageFaultTimeHigh at render_frame()
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { WIDTH = 2048, HEIGHT = 1024 };
static const size_t frame_bytes = (size_t)WIDTH * HEIGHT * 4;
static volatile uint64_t sum;

__attribute__((noinline)) void clear_frame(unsigned char *frame)
{
	memset(frame, 0x20, frame_bytes);
}

__attribute__((noinline)) void draw_line(unsigned char *frame, unsigned n)
{
	for (unsigned x = 0; x < WIDTH; x++) {
		unsigned y = (x * (n % 7 + 1) / 8 + n) % HEIGHT;
		frame[((size_t)y * WIDTH + x) * 4] = (unsigned char)n;
	}
}

__attribute__((noinline)) uint64_t render_frame(unsigned n)
{
	unsigned char *frame = mmap(NULL, frame_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (frame == MAP_FAILED)
		abort();
	clear_frame(frame);
	for (unsigned i = 0; i < 16; i++)
		draw_line(frame, n * 16 + i);
	uint64_t pixel = frame[(n * 4096u) % frame_bytes];
	munmap(frame, frame_bytes);
	return pixel;
}

int main(void)
{
	puts("ready");
	fflush(stdout);
	for (unsigned n = 0;; n++)
		sum += render_frame(n);
}
