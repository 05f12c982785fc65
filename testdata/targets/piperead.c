/* A reader is blocked in read on a pipe most of the time; its writer is slow on purpose.
 * piperead [microseconds between messages] */
#include "target.h"
#include "pipe.h"

NOINLINE int receive(uint64_t *message)
{
	ssize_t n = read(ends[0], message, sizeof *message);
	if (n != 0 && n != sizeof *message)
		target_bad("read: %zd %s", n, strerror(errno));
	return n != 0;
}

NOINLINE void send_message(uint64_t message)
{
	if (write(ends[1], &message, sizeof message) != sizeof message)
		target_bad("write: %s", strerror(errno));
}

static void *writer(void *arg)
{
	while (on) {
		target_sleep_us(pause_us);
		send_message(sent++);
	}
	close(ends[1]);
	return arg;
}

static void *reader(void *arg)
{
	uint64_t message;
	while (receive(&message))
		if (message != received++)
			target_bad("message %llu out of order", (unsigned long long)message);
	return arg;
}

int main(int argc, char **argv)
{
	pipe_run(argc, argv, reader, writer);
	if (sent != received)
		target_bad("%llu sent, %llu received", (unsigned long long)sent, (unsigned long long)received);
	target_count("receive", received + 1);
	target_count("send_message", sent);
	return target_finish(target_mix(5, 5));
}
