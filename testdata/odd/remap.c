/* Moves its own code, as programs do that want it in large pages: copies it to anonymous memory and moves that over the original.
 * Lines in: copy (to executable memory elsewhere), over (the copy, made now if there is none, takes the place of the code),
 * back (the file's code takes it again), drop (of pages of code its own copies go, and the file's are there again), spoil (a byte that is
 * never executed becomes another); hook (a jump at the beginning of leaf is taken over into memory of its own, as those do who hook their
 * own functions), call (what was taken over), unhook. */
#include "target.h"
#include <pthread.h>
#include <sys/mman.h>

static char *text, *copied;
static size_t text_len;
static off_t text_off; /* in the program's file */

/* find_text finds the mapping that this function is in. */
static void find_text(void)
{
	char line[512];
	unsigned long lo, hi, off, at = (unsigned long)find_text;
	FILE *f = fopen("/proc/self/maps", "r");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%lx-%lx %*s %lx", &lo, &hi, &off) == 3 && lo <= at && at < hi)
			text = (char *)lo, text_len = hi - lo, text_off = (off_t)off;
	if (!text)
		target_bad("no mapping of its own code");
	fclose(f);
}

static void copy(void)
{
	copied = mmap(NULL, text_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copied == MAP_FAILED)
		target_bad("no memory for a copy of the code");
	memcpy(copied, text, text_len);
	if (mprotect(copied, text_len, PROT_READ | PROT_EXEC) != 0)
		target_bad("mprotect: %s", strerror(errno));
}

static void over(void)
{
	if (!copied)
		copy();
	if (mremap(copied, text_len, text_len, MREMAP_MAYMOVE | MREMAP_FIXED, text) != text)
		target_bad("mremap: %s", strerror(errno));
	copied = NULL;
}

static void back(void)
{
	FILE *self = fopen("/proc/self/exe", "r");
	if (!self)
		target_bad("the program's file cannot be opened");
	if (mmap(text, text_len, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fileno(self), text_off) != text)
		target_bad("mmap: %s", strerror(errno));
	fclose(self);
}

static void drop(void)
{
	if (madvise(text, text_len, MADV_DONTNEED) != 0)
		target_bad("madvise: %s", strerror(errno));
}

NOINLINE static uint64_t leaf(uint64_t h, uint64_t i)
{
	return target_mix(h, i);
}

NOINLINE __attribute__((used)) static int never(void)
{
	return getpid() + 4711;
}

static void spoil(void)
{
	if (mprotect(text, text_len, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
		target_bad("mprotect: %s", strerror(errno));
	*(volatile char *)never ^= 1;
}

static uint8_t *hooked;
static const uint8_t *volatile to_hook = (const uint8_t *)leaf; /* as a table of hooks has it: no instruction names the bytes it reads */

static void hook(void)
{
	const uint8_t *from = to_hook;
	int32_t rel;
	char *at = text;
	if (*from != 0xe9)
		target_bad("leaf does not begin with a jump");
	do
		hooked = mmap(at -= 1 << 20, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	while (hooked == MAP_FAILED);
	memcpy(&rel, from + 1, sizeof rel);
	rel += (int32_t)(from - hooked);
	*hooked = 0xe9;
	memcpy(hooked + 1, &rel, sizeof rel);
	if (mprotect(hooked, 4096, PROT_READ | PROT_EXEC) != 0)
		target_bad("mprotect: %s", strerror(errno));
}

static void call(void)
{
	if (((uint64_t (*)(uint64_t, uint64_t))(uintptr_t)hooked)(1, 2) != target_mix(1, 2))
		target_bad("the hook leads elsewhere");
}

static void command(const char *line)
{
	if (strcmp(line, "copy") == 0)
		copy();
	else if (strcmp(line, "over") == 0)
		over();
	else if (strcmp(line, "back") == 0)
		back();
	else if (strcmp(line, "drop") == 0)
		drop();
	else if (strcmp(line, "spoil") == 0)
		spoil();
	else if (strcmp(line, "hook") == 0)
		hook();
	else if (strcmp(line, "call") == 0)
		call();
	else if (strcmp(line, "unhook") == 0)
		munmap(hooked, 4096);
	else
		return;
	printf("DONE %s\n", line);
}

NOINLINE static uint64_t inner(uint64_t h, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		h = leaf(h, i);
	return h;
}

NOINLINE static uint64_t outer(uint64_t n)
{
	return inner(inner(n, n), n + 1) + 1;
}

static volatile uint64_t rounds = 200;

static void *work(void *first)
{
	while (!target_stopping)
		if (outer(rounds) != *(uint64_t *)first)
			target_bad("the work came out as something else");
	return NULL;
}

int main(void)
{
	uint64_t first;
	pthread_t t;
	target_start();
	target_command = command;
	find_text();
	first = outer(rounds);
	if (pthread_create(&t, NULL, work, &first) != 0)
		target_bad("no thread");
	while (target_running())
		if (outer(rounds) != first)
			target_bad("the work came out as something else");
	pthread_join(t, NULL);
	return target_finish(first);
}
