/* A function whose name a terminal cannot show. */
#include <stdio.h>
#include <unistd.h>

__attribute__((noipa)) int odd(int x) __asm__("\"evil\x1b[2J\"");
__attribute__((noipa)) int odd(int x)
{
	return x + 1;
}

int main(void)
{
	puts("READY");
	fflush(stdout);
	for (int n = 0;; n = odd(n))
		usleep(1000);
}
