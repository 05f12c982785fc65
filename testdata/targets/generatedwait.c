/* Waits for its input in code that it has generated, without a name, tables or a frame pointer. */
#include "target.h"
#include <poll.h>
#include <string.h>
#include <sys/mman.h>

/* push rbx; push rbp; sub rsp,0x98; mov eax,7 (poll); syscall; add rsp,0x98; pop rbp; pop rbx; ret */
static const unsigned char code[] = {
	0x53, 0x55, 0x48, 0x81, 0xec, 0x98, 0, 0, 0, 0xb8, 7, 0, 0, 0, 0x0f, 0x05, 0x48, 0x81, 0xc4, 0x98, 0, 0, 0, 0x5d, 0x5b, 0xc3,
};

typedef int (*waiter)(struct pollfd *, unsigned long, int);

NOINLINE int call_generated(waiter wait)
{
	volatile char work[300];
	work[0] = 1;
	struct pollfd in = {.fd = 0, .events = POLLIN};
	return wait(&in, 1, 1000) + work[0];
}

NOINLINE int serve(waiter wait)
{
	int n = 0;
	while (target_running())
		n += call_generated(wait);
	return n;
}

int main(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return 1;
	memcpy(at, code, sizeof code);
	if (mprotect(at, 4096, PROT_READ | PROT_EXEC))
		return 1;
	target_start();
	target_count("runs", serve((waiter)at) >= 0);
	return target_finish(0);
}
