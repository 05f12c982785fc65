// Cause: Three processes pass records along two pipes. The last one, sink, works slowly on each record in index_record, so both others wait for room in
// their pipes: their waits are victims, the cause is the CPU time of index_record.
// Right: CPUbound at index_record()
// Never: produce()
// Never: make_record()
// Never: filter()
// Processes: tree
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { RECORD = 4096 };

struct record {
	uint32_t number;
	unsigned char data[RECORD - sizeof(uint32_t)];
};

static void read_all(int fd, void *p, size_t n)
{
	for (size_t got = 0; got < n;) {
		ssize_t r = read(fd, (char *)p + got, n - got);
		if (r <= 0)
			_exit(1);
		got += (size_t)r;
	}
}

static void write_all(int fd, const void *p, size_t n)
{
	for (size_t put = 0; put < n;) {
		ssize_t r = write(fd, (const char *)p + put, n - put);
		if (r <= 0)
			_exit(1);
		put += (size_t)r;
	}
}

__attribute__((noinline)) void make_record(struct record *r, uint32_t number)
{
	r->number = number;
	memset(r->data, (int)(number & 255), sizeof r->data);
}

__attribute__((noinline)) void produce(int to)
{
	for (uint32_t n = 0;; n++) {
		struct record r;
		make_record(&r, n);
		write_all(to, &r, sizeof r);
	}
}

__attribute__((noinline)) int is_wanted(const struct record *r) { return r->data[7] != 13; }

__attribute__((noinline)) void filter(int from, int to)
{
	for (;;) {
		struct record r;
		read_all(from, &r, sizeof r);
		if (is_wanted(&r))
			write_all(to, &r, sizeof r);
	}
}

static uint32_t index_table[1 << 12];

__attribute__((noinline)) void index_record(const struct record *r)
{
	uint32_t h = r->number;
	for (int round = 0; round < 100; round++)
		for (size_t i = 0; i < sizeof r->data; i++)
			h = (h ^ r->data[i]) * 16777619u;
	index_table[h >> 20]++;
}

__attribute__((noinline)) void sink(int from)
{
	for (;;) {
		struct record r;
		read_all(from, &r, sizeof r);
		index_record(&r);
	}
}

static void become_child(const char *name)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == 1)
		_exit(1);
	prctl(PR_SET_NAME, name);
}

int main(void)
{
	int raw[2], wanted[2];
	if (pipe(raw) || pipe(wanted))
		return 1;
	if (fork() == 0) {
		become_child("filter");
		close(raw[1]);
		close(wanted[0]);
		filter(raw[0], wanted[1]);
	}
	if (fork() == 0) {
		become_child("sink");
		close(raw[0]);
		close(raw[1]);
		close(wanted[1]);
		sink(wanted[0]);
	}
	close(raw[0]);
	close(wanted[0]);
	close(wanted[1]);
	usleep(200000);
	puts("ready");
	fflush(stdout);
	produce(raw[1]);
}
