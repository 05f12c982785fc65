/* Moves large pieces of data, a pair of threads for each way to do so: one hands over a piece in one blocking call, the other takes it slowly.
 * A call that moves less than its piece is short; nothing but a signal makes one so. What arrives is compared with what was sent, byte by byte.
 * COUNT calls/KIND and whole/KIND say how many there were, and how many moved their piece. */
#include "target.h"
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

enum { PIECE = 1 << 20, SLICE = 1 << 16 };

struct way {
	const char *kind;
	int out, in; /* descriptors of the two threads */
	uint64_t calls, shorts;
	char *data; /* SLICE more than a piece: it repeats itself after SLICE bytes */
	pthread_t hands, takes;
};

static void must(int ok, const char *what)
{
	if (!ok)
		target_bad("%s: %s", what, strerror(errno));
}

static void whole(struct way *w, ssize_t n)
{
	if (n <= 0)
		target_bad("%s: %zd, %s", w->kind, n, strerror(errno));
	w->calls++;
	w->shorts += n != PIECE;
}

/* vector_of cuts a piece into four. */
static void vector_of(char *data, struct iovec *v)
{
	for (int i = 0; i < 4; i++)
		v[i] = (struct iovec){data + i * (PIECE / 4), PIECE / 4};
}

/* hand_over moves a piece and gives how many bytes that were. */
static ssize_t hand_over(struct way *w, int file)
{
	struct iovec v[4];
	struct msghdr m = {.msg_iov = v, .msg_iovlen = 4};
	off_t from = 0;
	vector_of(w->data, v);
	if (!strcmp(w->kind, "send") || !strcmp(w->kind, "tcp"))
		return send(w->out, w->data, PIECE, 0);
	if (!strcmp(w->kind, "writev"))
		return writev(w->out, v, 4);
	if (!strcmp(w->kind, "sendmsg"))
		return sendmsg(w->out, &m, 0);
	if (!strcmp(w->kind, "sendfile"))
		return sendfile(w->out, file, &from, PIECE);
	if (!strcmp(w->kind, "getrandom"))
		return getrandom(w->data, PIECE, 0);
	if (!strcmp(w->kind, "device"))
		return read(w->out, w->data, PIECE);
	return write(w->out, w->data, PIECE);
}

static int file_of(const char *data)
{
	FILE *f = tmpfile();
	must(f && fwrite(data, 1, PIECE, f) == PIECE && fflush(f) == 0, "tmpfile");
	return fileno(f);
}

static void *hands(void *arg)
{
	struct way *w = arg;
	int file = strcmp(w->kind, "sendfile") ? -1 : file_of(w->data);
	while (!target_stopping) {
		/* Of a piece that was cut the rest follows, so that the other side sees no difference. */
		ssize_t n = hand_over(w, file);
		whole(w, n);
		if (w->in >= 0)
			for (ssize_t more; n < PIECE; n += more)
				must((more = write(w->out, w->data + n, (size_t)(PIECE - n))) > 0, "the rest");
	}
	if (w->in >= 0)
		shutdown(w->out, SHUT_WR), close(w->out);
	return NULL;
}

static void *takes(void *arg)
{
	struct way *w = arg;
	static const struct timespec pause = {0, 200000};
	char *got = malloc(PIECE);
	size_t at = 0;
	for (ssize_t n; (n = read(w->in, got, SLICE)) != 0; at = (at + (size_t)n) % SLICE) {
		must(n > 0, "read");
		if (memcmp(got, w->data + at, (size_t)n) != 0)
			target_bad("%s: other bytes, or in another order", w->kind);
		nanosleep(&pause, NULL);
	}
	free(got);
	return NULL;
}

/* whole_from asks for a piece that comes in slices. */
static void *whole_from(void *arg)
{
	struct way *w = arg;
	char *got = malloc(PIECE);
	for (ssize_t n; (n = recv(w->in, got, PIECE, MSG_WAITALL)) != 0;) {
		if (n != PIECE && n > 0 && recv(w->in, got, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
			break; /* the end */
		whole(w, n);
		for (ssize_t more; n < PIECE && (more = recv(w->in, got + n, (size_t)(PIECE - n), MSG_WAITALL)) > 0;)
			n += more;
	}
	free(got);
	return NULL;
}

static void *slices_to(void *arg)
{
	struct way *w = arg;
	static const struct timespec pause = {0, 200000};
	while (!target_stopping)
		for (int at = 0; at < PIECE; at += 4096) {
			must(send(w->out, w->data + at, 4096, 0) == 4096, "send");
			if (at % SLICE == 0)
				nanosleep(&pause, NULL);
		}
	shutdown(w->out, SHUT_WR);
	return NULL;
}

static void over_tcp(int fds[2])
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof a;
	int l = socket(AF_INET, SOCK_STREAM, 0);
	must(bind(l, (struct sockaddr *)&a, size) == 0 && listen(l, 1) == 0 && getsockname(l, (struct sockaddr *)&a, &size) == 0, "listen");
	fds[0] = socket(AF_INET, SOCK_STREAM, 0);
	must(connect(fds[0], (struct sockaddr *)&a, size) == 0 && (fds[1] = accept(l, NULL, NULL)) >= 0, "connect");
	close(l);
}

static void open_way(struct way *w)
{
	int fds[2] = {-1, -1};
	if (!strcmp(w->kind, "write") || !strcmp(w->kind, "writev"))
		must(pipe2(fds, O_CLOEXEC) == 0 && (w->in = fds[0], w->out = fds[1], 1), "pipe");
	else if (!strcmp(w->kind, "device"))
		w->in = -1, w->out = open("/dev/zero", O_RDONLY);
	else if (!strcmp(w->kind, "getrandom"))
		w->in = w->out = -1;
	else {
		if (!strcmp(w->kind, "tcp"))
			over_tcp(fds);
		else
			must(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0, "socketpair");
		w->out = fds[0], w->in = fds[1];
	}
}

int main(int argc, char **argv)
{
	static const char *kinds[] = {"write", "writev", "send", "sendmsg", "tcp", "sendfile", "waitall", "getrandom", "device"};
	enum { KINDS = sizeof kinds / sizeof *kinds };
	static struct way ways[KINDS];
	int n = 0;
	target_start();
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < KINDS; i++) {
		struct way *w = &ways[n];
		int asked = argc == 1;
		for (int k = 1; k < argc; k++)
			asked |= !strcmp(argv[k], kinds[i]);
		if (!asked)
			continue;
		n++;
		w->kind = kinds[i];
		w->data = malloc(PIECE + SLICE);
		for (size_t at = 0; at < PIECE + SLICE; at++)
			w->data[at] = (char)(target_mix(i + 1, at % SLICE) >> 8);
		open_way(w);
	}
	target_wait_go();
	for (int i = 0; i < n; i++) {
		int waitall = !strcmp(ways[i].kind, "waitall");
		must(pthread_create(&ways[i].hands, NULL, waitall ? slices_to : hands, &ways[i]) == 0, "pthread_create");
		if (ways[i].in >= 0)
			must(pthread_create(&ways[i].takes, NULL, waitall ? whole_from : takes, &ways[i]) == 0, "pthread_create");
	}
	target_wait_stop();
	for (int i = 0; i < n; i++) {
		char name[64];
		pthread_join(ways[i].hands, NULL);
		if (ways[i].in >= 0)
			pthread_join(ways[i].takes, NULL);
		snprintf(name, sizeof name, "calls/%s", ways[i].kind);
		target_count(name, ways[i].calls);
		snprintf(name, sizeof name, "whole/%s", ways[i].kind);
		target_count(name, ways[i].calls - ways[i].shorts);
	}
	return target_finish(target_mix(8, 8));
}
