// Cause: the last of four processes in a chain of pipes is slow: it computes all the time, in pack_record(); those before it
// wait to write.
// Right: CPUbound at pack_record()
// Never: generate_lines()
// Never: parse_lines()
// Never: filter_lines()
// Processes: tree
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE = 64, LINES = 64, CHUNK = LINE * LINES };

static volatile uint64_t packed;

static void read_chunk(char *chunk)
{
	for (size_t have = 0; have < CHUNK;) {
		ssize_t n = read(0, chunk + have, CHUNK - have);
		if (n <= 0)
			_exit(0);
		have += (size_t)n;
	}
}

static void write_chunk(const char *chunk)
{
	for (size_t done = 0; done < CHUNK;) {
		ssize_t n = write(1, chunk + done, CHUNK - done);
		if (n <= 0)
			_exit(0);
		done += (size_t)n;
	}
}

__attribute__((noinline)) void generate_lines(void)
{
	char chunk[CHUNK + 1];
	for (uint32_t n = 0;;) {
		for (int i = 0; i < LINES; i++, n++)
			snprintf(chunk + i * LINE, LINE + 1, "%010u user-%05u GET /page/%-31u\n", n, n % 1000, n * 7);
		write_chunk(chunk);
	}
}

__attribute__((noinline)) void parse_lines(void)
{
	char chunk[CHUNK];
	for (;;) {
		read_chunk(chunk);
		for (int i = 0; i < CHUNK; i++)
			if (chunk[i] >= 'a' && chunk[i] <= 'z')
				chunk[i] = (char)(chunk[i] - 32);
		write_chunk(chunk);
	}
}

__attribute__((noinline)) void filter_lines(void)
{
	char chunk[CHUNK];
	for (;;) {
		read_chunk(chunk);
		for (int i = 0; i < LINES; i++)
			if (chunk[i * LINE + 9] == '7')
				memset(chunk + i * LINE, '-', LINE - 1);
		write_chunk(chunk);
	}
}

__attribute__((noinline)) uint64_t pack_record(const char *line)
{
	uint64_t h = 14695981039346656037u;
	for (int round = 0; round < 400; round++)
		for (int i = 0; i < LINE; i++)
			h = (h ^ (unsigned char)line[i]) * 1099511628211u;
	return h;
}

__attribute__((noinline)) void store_records(void)
{
	char chunk[CHUNK];
	for (;;) {
		read_chunk(chunk);
		for (int i = 0; i < LINES; i++)
			packed += pack_record(chunk + i * LINE);
	}
}

static void start(const char *name, void (*stage)(void), int in, int out, const int *pipes)
{
	pid_t child = fork();
	if (child < 0) {
		perror("fork");
		exit(1);
	}
	if (child > 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, name);
	if (in >= 0)
		dup2(in, 0);
	if (out >= 0)
		dup2(out, 1);
	for (int i = 0; i < 6; i++)
		close(pipes[i]);
	stage();
	_exit(0);
}

int main(void)
{
	int p[6];
	if (pipe(p) || pipe(p + 2) || pipe(p + 4)) {
		perror("pipe");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	start("generate", generate_lines, -1, p[1], p);
	start("parse", parse_lines, p[0], p[3], p);
	start("filter", filter_lines, p[2], p[5], p);
	start("store", store_records, p[4], -1, p);
	for (int i = 0; i < 6; i++)
		close(p[i]);
	while (wait(NULL) > 0)
		;
	return 0;
}
