/* A reader waits for a slow writer in read, which receive ends in a jump to, and in turn by jumps over one of two functions. So while
 * it waits none of them has a frame on the stack.
 * tailwait [microseconds between messages] */
#include "target.h"
#include "pipe.h"

NOINLINE ssize_t receive(uint64_t *message) { return read(ends[0], message, sizeof *message); }

NOINLINE ssize_t left(int fd, uint64_t *message)
{
	received++;
	return read(fd, message, sizeof *message);
}

NOINLINE ssize_t right(int fd, uint64_t *message)
{
	received += 1;
	__asm__ volatile("" ::: "memory");
	return read(fd, message, sizeof *message);
}

NOINLINE ssize_t either(uint64_t which, uint64_t *message)
{
	if (which % 2)
		return left(ends[0], message);
	return right(ends[0], message);
}

static void *writer(void *arg)
{
	while (on) {
		target_sleep_us(pause_us);
		if (write(ends[1], &sent, sizeof sent) != sizeof sent)
			target_bad("write: %s", strerror(errno));
		sent++;
	}
	close(ends[1]);
	return arg;
}

NOINLINE int take(uint64_t n, uint64_t *message)
{
	ssize_t got = n % 2 ? receive(message) : either(n / 2, message);
	if (got != 0 && (got != sizeof *message || *message != n))
		target_bad("read: %zd %s, message %llu of %llu", got, strerror(errno), (unsigned long long)*message, (unsigned long long)n);
	return got != 0;
}

static void *reader(void *arg)
{
	uint64_t message;
	for (uint64_t n = 0; take(n, &message); n++)
		;
	return arg;
}

int main(int argc, char **argv)
{
	pipe_run(argc, argv, reader, writer);
	target_count("sent", sent);
	target_count("received", received);
	return target_finish(sent > 0);
}
