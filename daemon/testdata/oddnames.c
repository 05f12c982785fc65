/* A function whose name a terminal cannot show. */
#include <stdio.h>

__attribute__((noipa)) int odd(int x) __asm__("\"evil\x1b[2J\"");
__attribute__((noipa)) int odd(int x)
{
	return x + 1;
}

int main(void)
{
	puts("READY");
	fflush(stdout);
	int n = 0;
	while (getchar() != EOF)
		n = odd(n);
	return n < 0;
}
