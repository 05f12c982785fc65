// Cause: a child process computes all the time, in score_document(); its parent waits for its answers.
// Right: CPUbound at score_document()
// Never: ask_scorer()
// Processes: tree
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

struct document {
	uint64_t id;
	char text[1016];
};

static volatile uint64_t best;

__attribute__((noinline)) uint64_t score_document(const struct document *d)
{
	uint64_t h = d->id;
	for (int round = 0; round < 2000; round++)
		for (size_t i = 0; i < sizeof d->text; i++)
			h = (h ^ (unsigned char)d->text[i]) * 1099511628211u;
	return h;
}

static void run_scorer(int fd)
{
	struct document d;
	prctl(PR_SET_NAME, "scorer");
	while (recv(fd, &d, sizeof d, MSG_WAITALL) == sizeof d) {
		uint64_t score = score_document(&d);
		if (send(fd, &score, sizeof score, MSG_NOSIGNAL) != sizeof score)
			break;
	}
	_exit(0);
}

__attribute__((noinline)) void fetch_document(struct document *d, uint64_t id)
{
	d->id = id;
	for (size_t i = 0; i < sizeof d->text; i++)
		d->text[i] = (char)('a' + (id + i * i) % 26);
}

__attribute__((noinline)) uint64_t ask_scorer(int fd, const struct document *d)
{
	uint64_t score;
	if (send(fd, d, sizeof *d, MSG_NOSIGNAL) != sizeof *d || recv(fd, &score, sizeof score, MSG_WAITALL) != sizeof score)
		exit(1);
	return score;
}

int main(void)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) {
		perror("socketpair");
		return 1;
	}
	pid_t child = fork();
	if (child < 0) {
		perror("fork");
		return 1;
	}
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		run_scorer(pair[1]);
	}
	close(pair[1]);
	puts("ready");
	fflush(stdout);
	for (uint64_t id = 1;; id++) {
		struct document d;
		fetch_document(&d, id);
		uint64_t score = ask_scorer(pair[0], &d);
		if (score > best)
			best = score;
	}
}
