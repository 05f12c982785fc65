/* A shared object that dlopener loads and unloads. */
#include <stdint.h>

static uint64_t calls;

__attribute__((noinline)) static uint64_t plugin_step(uint64_t x, uint64_t i)
{
	return (x ^ (i + 1)) * 0x9e3779b97f4a7c15u;
}

uint64_t plugin_calls(void)
{
	return calls;
}

uint64_t plugin_work(uint64_t x)
{
	calls++;
	for (uint64_t i = 0; i < 100; i++)
		x = plugin_step(x, i);
	return x;
}
