/* Two threads talk over TCP on the loopback interface, and over a pair of datagram sockets, with every call that sends or
 * receives; each counts what it moved.
 * messages [rounds] */
#include "target.h"
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum { LARGEST = 1200, BATCH = 4 };
static int stream[2], datagrams[2]; /* [0] sends, [1] receives */
static long rounds;
static uint64_t msgs_out, bytes_out, msgs_in, bytes_in, batched_out, batched_in, file_out, file_out_msgs, file_in, file_in_msgs;

static uint64_t sizes_out[LARGEST + 1], sizes_in[LARGEST + 1]; /* of what is in bytes_out and bytes_in: how often each */

static size_t size_of(long i) { return 1 + (size_t)(i * 37 % LARGEST); }

static void moved(ssize_t n, uint64_t *msgs, uint64_t *bytes)
{
	if (n <= 0)
		target_bad("%s", strerror(errno));
	(*msgs)++;
	*bytes += (uint64_t)n;
	if (bytes == &bytes_out)
		sizes_out[n]++;
	if (bytes == &bytes_in)
		sizes_in[n]++;
}

NOINLINE void say(long i, char *buf)
{
	size_t n = size_of(i);
	struct iovec v = {buf, n};
	struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1};
	switch (i % 4) {
	case 0:
		moved(send(stream[0], buf, n, 0), &msgs_out, &bytes_out);
		break;
	case 1:
		moved(sendto(stream[0], buf, n, 0, NULL, 0), &msgs_out, &bytes_out);
		break;
	case 2:
		moved(sendmsg(stream[0], &h, 0), &msgs_out, &bytes_out);
		break;
	case 3:
		moved(write(stream[0], buf, n), &file_out_msgs, &file_out);
	}
}

NOINLINE void hear(long i, char *buf)
{
	size_t n = size_of(i);
	struct iovec v = {buf, n};
	struct msghdr h = {.msg_iov = &v, .msg_iovlen = 1};
	switch (i % 4) {
	case 0:
		moved(recv(stream[1], buf, n, MSG_WAITALL), &msgs_in, &bytes_in);
		break;
	case 1:
		moved(recvfrom(stream[1], buf, n, MSG_WAITALL, NULL, NULL), &msgs_in, &bytes_in);
		break;
	case 2:
		moved(recvmsg(stream[1], &h, MSG_WAITALL), &msgs_in, &bytes_in);
		break;
	case 3:
		for (ssize_t got = 0, m; (size_t)got < n; got += m)
			moved(m = read(stream[1], buf, n - (size_t)got), &file_in_msgs, &file_in);
	}
	if (recv(stream[1], buf, 1, MSG_PEEK | MSG_DONTWAIT | MSG_OOB) >= 0) /* fails: nothing was sent out of band */
		target_bad("data out of band");
}

NOINLINE void say_batch(char *buf)
{
	struct iovec v[BATCH];
	struct mmsghdr h[BATCH];
	memset(h, 0, sizeof h);
	for (int k = 0; k < BATCH; k++) {
		v[k] = (struct iovec){buf, 100};
		h[k].msg_hdr.msg_iov = &v[k];
		h[k].msg_hdr.msg_iovlen = 1;
	}
	int n = sendmmsg(datagrams[0], h, BATCH, 0);
	if (n != BATCH)
		target_bad("sendmmsg: %d", n);
	batched_out += (uint64_t)n;
	for (int left = BATCH; left > 0; left -= n) {
		if ((n = recvmmsg(datagrams[1], h, (unsigned)left, 0, NULL)) <= 0)
			target_bad("recvmmsg: %s", strerror(errno));
		batched_in += (uint64_t)n;
	}
	if (recvmmsg(datagrams[1], h, BATCH, MSG_DONTWAIT, NULL) != -1) /* fails: nothing is left */
		target_bad("a datagram too many");
}

static void *speaker(void *arg)
{
	char buf[LARGEST] = {1};
	(void)arg;
	for (long i = 0; i < rounds; i++) {
		say(i, buf);
		if (i % 10 == 0)
			say_batch(buf);
	}
	shutdown(stream[0], SHUT_WR);
	return NULL;
}

/* Until it is told to go the listener gets a byte now and then, so that it is seen waiting for its socket. That is done past the
 * C library, and in no count. */
static void listen_early(char *buf)
{
	do
		if (syscall(SYS_read, stream[1], buf, 1) != 1)
			target_bad("no byte");
	while (buf[0] != 'g');
}

static void speak_early(const char *what)
{
	if (syscall(SYS_write, stream[0], what, 1) != 1)
		target_bad("no byte");
}

static void *listener(void *arg)
{
	char buf[LARGEST];
	(void)arg;
	listen_early(buf);
	for (long i = 0; i < rounds; i++)
		hear(i, buf);
	if (recv(stream[1], buf, 1, 0) != 0)
		target_bad("more was sent than was said");
	return NULL;
}

static void connect_stream(void)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof a;
	int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (l < 0 || bind(l, (struct sockaddr *)&a, n) != 0 || listen(l, 1) != 0 || getsockname(l, (struct sockaddr *)&a, &n) != 0)
		target_bad("listen: %s", strerror(errno));
	stream[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (stream[0] < 0 || connect(stream[0], (struct sockaddr *)&a, n) != 0)
		target_bad("connect: %s", strerror(errno));
	stream[1] = accept4(l, NULL, NULL, SOCK_CLOEXEC);
	if (stream[1] < 0)
		target_bad("accept: %s", strerror(errno));
	close(l);
}

int main(int argc, char **argv)
{
	pthread_t a, b;
	target_start();
	rounds = target_arg(argc, argv, 1, 1000);
	connect_stream();
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, datagrams) != 0)
		target_bad("socketpair: %s", strerror(errno));
	pthread_create(&b, NULL, listener, NULL);
	while (!target_going) {
		target_poll(20);
		speak_early(target_going ? "g" : ".");
	}
	pthread_create(&a, NULL, speaker, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	if (bytes_out + file_out != bytes_in + file_in)
		target_bad("%llu bytes sent, %llu received", (unsigned long long)(bytes_out + file_out), (unsigned long long)(bytes_in + file_in));
	target_count("msgs_out", msgs_out);
	target_count("bytes_out", bytes_out);
	target_count("msgs_in", msgs_in);
	target_count("bytes_in", bytes_in);
	target_count("batched_out", batched_out);
	target_count("batched_in", batched_in);
	target_count("file_out", file_out);
	target_count("file_out_msgs", file_out_msgs);
	target_count("file_in", file_in);
	target_count("file_in_msgs", file_in_msgs);
	for (int i = 0; i <= LARGEST; i++)
		if (sizes_out[i] + sizes_in[i] > 0)
			printf("SIZE %d %llu\n", i, (unsigned long long)(sizes_out[i] + sizes_in[i]));
	puts("DONE");
	target_wait_stop();
	return target_finish(target_mix(bytes_in, bytes_out));
}
