/* culprit-demo-io: an order service that forces every small record to the disk on its own: append_journal writes a few
 * bytes to orders.journal and calls fsync, once for each line of an order.
 * culprit-demo-io [DIRECTORY]: where orders.journal lies while the program runs (default: the current directory).
 * It prints a line every five seconds and ends at SIGTERM or Ctrl-C. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINES = 4, JOURNAL_LIMIT = 8 << 20 };

struct order {
	uint32_t number;
	uint32_t product[LINES];
	uint32_t pieces[LINES];
};

static int journal;
static off_t journal_end;
static volatile sig_atomic_t stopping;

static void on_stop(int sig)
{
	(void)sig;
	stopping = 1;
}

static void fail(const char *what)
{
	fprintf(stderr, "orders: %s: %s\n", what, strerror(errno));
	exit(1);
}

__attribute__((noinline)) void receive_order(struct order *o, uint32_t number)
{
	o->number = number;
	for (uint32_t i = 0; i < LINES; i++) {
		o->product[i] = (number * 2654435761u + i) % 5000;
		o->pieces[i] = 1 + (number + i) % 7;
	}
}

__attribute__((noinline)) uint32_t price_order(const struct order *o)
{
	uint32_t cents = 0;
	for (int round = 0; round < 50; round++)
		for (int i = 0; i < LINES; i++)
			cents += o->pieces[i] * (o->product[i] % 1999 + 100);
	return cents;
}

/* The culprit: one write and one fsync for a few bytes. */
__attribute__((noinline)) void append_journal(const char *line, size_t size)
{
	if (pwrite(journal, line, size, journal_end) != (ssize_t)size)
		fail("writing orders.journal");
	if (fsync(journal) != 0)
		fail("saving orders.journal");
	journal_end = (journal_end + (off_t)size) % JOURNAL_LIMIT;
}

__attribute__((noinline)) void save_order(const struct order *o, uint32_t cents)
{
	char line[64];
	for (int i = 0; i < LINES; i++) {
		int n = snprintf(line, sizeof line, "%u;%u;%u;%u\n", o->number, o->product[i], o->pieces[i], cents);
		append_journal(line, (size_t)n);
	}
}

__attribute__((noinline)) void handle_order(uint32_t number)
{
	struct order o;
	receive_order(&o, number);
	save_order(&o, price_order(&o));
}

int main(int argc, char **argv)
{
	signal(SIGTERM, on_stop);
	signal(SIGINT, on_stop);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1 && chdir(argv[1]) != 0)
		fail(argv[1]);
	journal = open("orders.journal", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (journal < 0)
		fail("opening orders.journal");
	time_t said = time(NULL);
	uint32_t number = 0;
	while (!stopping) {
		handle_order(++number);
		if (time(NULL) - said >= 5) {
			said = time(NULL);
			printf("orders: %u saved\n", number);
		}
	}
	close(journal);
	unlink("orders.journal");
	printf("orders: done\n");
	return 0;
}
