/* A reader is blocked in read on a pipe most of the time; its writer is slow on purpose.
 * piperead [microseconds between messages] */
#include "target.h"
#include <pthread.h>

static int ends[2];
static long pause_us = 5000;
static volatile int on = 1;
static uint64_t sent, received;

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
	pthread_t r, w;
	sigset_t term;
	target_start();
	pause_us = target_arg(argc, argv, 1, pause_us);
	if (pipe(ends) != 0)
		target_bad("pipe: %s", strerror(errno));
	sigemptyset(&term); /* the reader's read must not see SIGTERM */
	sigaddset(&term, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &term, NULL);
	pthread_create(&r, NULL, reader, NULL);
	pthread_create(&w, NULL, writer, NULL);
	pthread_sigmask(SIG_UNBLOCK, &term, NULL);
	target_wait_stop();
	on = 0;
	pthread_join(w, NULL);
	pthread_join(r, NULL);
	if (sent != received)
		target_bad("%llu sent, %llu received", (unsigned long long)sent, (unsigned long long)received);
	target_count("receive", received + 1);
	target_count("send_message", sent);
	return target_finish(target_mix(5, 5));
}
