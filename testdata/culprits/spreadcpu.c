// Cause: render_frame uses nearly all CPU time, spread evenly over the eight passes that it calls; no pass alone is the cause, the frame is.
// Right: CPUbound at render_frame()
// Never: pass_shadows()
// Never: pass_lights()
// Never: pass_blur()
// Never: pass_sharpen()
// Never: pass_gamma()
// Never: pass_edges()
// Never: pass_noise()
// Never: pass_fade()
// Never: poll_input()
#include <stdint.h>
#include <stdio.h>

enum { SIZE = 1 << 14 };

static uint32_t frame[SIZE];
static uint32_t input;

#define PASS(name, expression)                                  \
	__attribute__((noinline)) void pass_##name(uint32_t *p) \
	{                                                       \
		for (int round = 0; round < 8; round++)         \
			for (int i = 1; i < SIZE; i++)          \
				p[i] = expression;              \
	}

PASS(shadows, p[i] * 5 + (p[i - 1] >> 3))
PASS(lights, p[i] * 7 + (p[i - 1] >> 5))
PASS(blur, p[i] * 9 + (p[i - 1] >> 7))
PASS(sharpen, p[i] * 11 + (p[i - 1] >> 9))
PASS(gamma, p[i] * 13 + (p[i - 1] >> 11))
PASS(edges, p[i] * 17 + (p[i - 1] >> 13))
PASS(noise, p[i] * 19 + (p[i - 1] >> 15))
PASS(fade, p[i] * 23 + (p[i - 1] >> 17))

__attribute__((noinline)) void render_frame(void)
{
	pass_shadows(frame);
	pass_lights(frame);
	pass_blur(frame);
	pass_sharpen(frame);
	pass_gamma(frame);
	pass_edges(frame);
	pass_noise(frame);
	pass_fade(frame);
}

__attribute__((noinline)) void poll_input(void)
{
	for (int i = 0; i < 1000; i++)
		input = input * 1664525u + 1013904223u;
	frame[0] = input;
}

int main(void)
{
	poll_input();
	render_frame();
	puts("ready");
	fflush(stdout);
	for (;;) {
		poll_input();
		render_frame();
	}
}
