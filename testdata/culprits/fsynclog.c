// Cause: Each of four writers waits until its entry of the log is on the disk: append_entry calls fsync after every few bytes.
// Right: ExcessiveIOBlockingTime at append_entry()
// Right: ExcessiveIOBlockingTime at flush_log()
// Right: ExcessiveIOBlockingTime at file FILE
// Never: make_entry()
// Args: FILE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WRITERS = 4, ENTRY = 128, SLOTS = 4096 };

static int log_fd;

struct entry {
	uint64_t number;
	char text[ENTRY - sizeof(uint64_t)];
};

__attribute__((noinline)) void make_entry(struct entry *e, uint64_t number)
{
	e->number = number;
	uint32_t h = (uint32_t)number;
	for (size_t i = 0; i < sizeof e->text; i++)
		e->text[i] = (char)('a' + (h = h * 1664525u + 1013904223u) % 26);
}

__attribute__((noinline)) void flush_log(void)
{
	if (fsync(log_fd))
		abort();
}

__attribute__((noinline)) void append_entry(const struct entry *e, unsigned writer)
{
	off_t at = (off_t)(e->number % SLOTS * WRITERS + writer) * ENTRY;
	if (pwrite(log_fd, e, sizeof *e, at) != sizeof *e)
		abort();
	flush_log();
}

static void *writer(void *arg)
{
	unsigned me = (unsigned)(uintptr_t)arg;
	for (uint64_t n = 0;; n++) {
		struct entry e;
		make_entry(&e, n);
		append_entry(&e, me);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc != 2 || (log_fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600)) < 0)
		return 1;
	if (ftruncate(log_fd, (off_t)ENTRY * SLOTS * WRITERS))
		return 1;
	pthread_t t[WRITERS];
	for (uintptr_t i = 0; i < WRITERS; i++)
		pthread_create(&t[i], NULL, writer, (void *)i);
	usleep(300000);
	puts("ready");
	fflush(stdout);
	pthread_join(t[0], NULL);
	return 0;
}
