// Cause: Nearly all CPU time is in code that the program has generated, without a name, tables or a frame pointer, and that match_line calls.
// Right: CPUbound at match_line()
// Never: read_line()
// Never: count_line()
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE = 200 };

typedef uint64_t (*matcher)(const char *line, uint64_t length);

/* What a library for regular expressions makes: it keeps registers of its caller on the stack, has a frame of its own, and goes over a line many times.
 *   push rbx; push rbp; sub rsp,0x98; mov ebp,2000; xor eax,eax
 * outer: xor ecx,ecx
 * inner: movzx ebx,byte [rdi+rcx]; imul rax,rax,31; add rax,rbx; mov [rsp+0x40],rax; inc rcx; cmp rcx,rsi; jb inner
 *   dec ebp; jnz outer
 *   add rsp,0x98; pop rbp; pop rbx; ret */
static const unsigned char code[] = {
	0x53, 0x55, 0x48, 0x81, 0xec, 0x98, 0, 0, 0, 0xbd, 0xd0, 0x07, 0, 0, 0x31, 0xc0,
	0x31, 0xc9,
	0x0f, 0xb6, 0x1c, 0x0f, 0x48, 0x6b, 0xc0, 0x1f, 0x48, 0x01, 0xd8, 0x48, 0x89, 0x44, 0x24, 0x40, 0x48, 0xff, 0xc1, 0x48, 0x39, 0xf1, 0x72, 0xe8,
	0xff, 0xcd, 0x75, 0xe2,
	0x48, 0x81, 0xc4, 0x98, 0, 0, 0, 0x5d, 0x5b, 0xc3,
};

static matcher compiled;
static uint32_t seed = 4711;
static uint64_t matched;

__attribute__((noinline)) void read_line(char *line)
{
	for (int i = 0; i < LINE; i++)
		line[i] = (char)('a' + ((seed = seed * 1664525u + 1013904223u) >> 16) % 26);
}

/* The culprit. Like such a library it has working memory for the code on its own stack, more than is copied with a sample. */
__attribute__((noinline)) uint64_t match_line(const char *line)
{
	volatile char work[24 << 10];
	work[0] = line[0];
	uint64_t hash = compiled(line, LINE);
	return hash + (uint64_t)work[0];
}

__attribute__((noinline)) void count_line(uint64_t hash) { matched += hash % 3 == 0; }

__attribute__((noinline)) void filter(char *line)
{
	read_line(line);
	count_line(match_line(line));
}

int main(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return 1;
	memcpy(at, code, sizeof code);
	if (mprotect(at, 4096, PROT_READ | PROT_EXEC))
		return 1;
	compiled = (matcher)at;
	static char line[LINE];
	puts("ready");
	fflush(stdout);
	for (;;)
		filter(line);
}
