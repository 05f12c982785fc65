/* Input and output in every way that the C library has, each call and each byte counted by the program itself; the kernel's own
 * figures (/proc/self/io) are read around it without the C library.
 * transfer [file] [rounds] : waits for "go", works, says DONE.
 * transfer alone FILE ROUNDS : works at once and ends, for a run under strace -c. */
#include "target.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum { MOST = 4096 };
static uint64_t ops, bytes, opens, twice_ops, twice_bytes, unseen_ops, unseen_bytes, sync_ns, syncs, file_ops, file_bytes, socket_ops, socket_bytes, pipe_ops, pipe_bytes, stream_ops, stream_bytes;
static char path[512], other_path[600];
static volatile int nowhere = -1;
static int file, other, sockets[2], pipes[2], second_pipe[2];

/* both notes what the kernel counts as read and as written, unseen what it does not count in /proc/self/io. */
static ssize_t both(ssize_t n)
{
	twice_ops++;
	twice_bytes += n > 0 ? (uint64_t)n : 0;
	return n;
}

static ssize_t unseen(ssize_t n)
{
	unseen_ops++;
	unseen_bytes += n > 0 ? (uint64_t)n : 0;
	return n;
}

/* moved counts one operation. */
static ssize_t moved(ssize_t n, const char *what)
{
	if (n < 0)
		target_bad("%s: %s", what, strerror(errno));
	ops++;
	bytes += (uint64_t)n;
	return n;
}

static void on_file(ssize_t n, const char *what)
{
	file_bytes += (uint64_t)moved(n, what);
	file_ops++;
}

static void on_socket(ssize_t n, const char *what)
{
	socket_bytes += (uint64_t)moved(n, what);
	socket_ops++;
}

static void on_pipe(ssize_t n, const char *what)
{
	pipe_bytes += (uint64_t)moved(n, what);
	pipe_ops++;
}

NOINLINE void use_file(char *buf, size_t n)
{
	struct iovec v[2] = {{buf, n}, {buf, 7}};
	lseek(file, 0, SEEK_SET);
	on_file(write(file, buf, n), "write");
	on_file(writev(file, v, 2), "writev");
	on_file(pwrite(file, buf, n, 3), "pwrite");
	on_file(pwrite64(file, buf, 5, 3), "pwrite64");
	on_file(pwritev(file, v, 2, 9), "pwritev");
	on_file(pwritev2(file, v, 1, 9, 0), "pwritev2");
	lseek(file, 0, SEEK_SET);
	on_file(read(file, buf, n), "read");
	on_file(readv(file, v, 2), "readv");
	on_file(pread(file, buf, n, 1), "pread");
	on_file(preadv(file, v, 2, 2), "preadv");
	on_file(preadv2(file, v, 2, 2, 0), "preadv2");
	on_file(pread(file, buf, n, 1 << 20), "pread at the end"); /* nothing, and an operation all the same */
	ops++;
	if (unseen(read(nowhere, buf, 1)) >= 0) /* an operation that fails moves nothing */
		target_bad("a read of no file succeeded");
}

NOINLINE void use_sockets(char *buf, size_t n)
{
	struct iovec v = {buf, n};
	struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
	struct mmsghdr mm = {.msg_hdr = m};
	for (int i = 0; i < 4; i++) {
		on_socket(i == 0   ? unseen(send(sockets[0], buf, n, 0))
			  : i == 1 ? unseen(sendto(sockets[0], buf, n, 0, NULL, 0))
			  : i == 2 ? unseen(sendmsg(sockets[0], &m, 0))
				   : write(sockets[0], buf, n),
			  "send");
		ssize_t got = i == 0   ? unseen(recv(sockets[1], buf, MOST, 0))
			      : i == 1 ? unseen(recvfrom(sockets[1], buf, MOST, 0, NULL, NULL))
			      : i == 2 ? unseen(recvmsg(sockets[1], &m, 0))
				       : read(sockets[1], buf, MOST);
		moved(got, "recv");
	}
	if (sendmmsg(sockets[0], &mm, 1, 0) != 1 || recvmmsg(sockets[1], &mm, 1, 0, NULL) != 1)
		target_bad("mmsg: %s", strerror(errno));
	ops += 2; /* they return a number of messages */
	unseen_ops += 2;
	socket_ops++;
}

NOINLINE void use_pipes(char *buf, size_t n)
{
	struct iovec v = {buf, n};
	off_t at = 0;
	on_pipe(write(pipes[1], buf, n), "write to a pipe");
	moved(unseen(tee(pipes[0], second_pipe[1], n, 0)), "tee");
	moved(read(second_pipe[0], buf, MOST), "read what was doubled");
	moved(read(pipes[0], buf, MOST), "read from a pipe");
	on_pipe(unseen(vmsplice(pipes[1], &v, 1, 0)), "vmsplice");
	moved(read(pipes[0], buf, MOST), "read from a pipe");
	on_file(unseen(splice(file, &at, pipes[1], NULL, n, 0)), "splice");
	moved(read(pipes[0], buf, MOST), "read what was spliced");
}

NOINLINE void use_both(size_t n)
{
	off_t from = 0, to = 0;
	char buf[MOST];
	on_pipe(both(sendfile(pipes[1], file, &from, n)), "sendfile");
	moved(read(pipes[0], buf, MOST), "read what was sent");
	on_file(both(copy_file_range(file, &(off_t){0}, other, &to, n, 0)), "copy_file_range");
}

/* What stdio does for the program are reads and writes of whole buffers. */
NOINLINE void use_streams(void)
{
	char line[64];
	FILE *f = fopen(other_path, "w+");
	if (!f)
		target_bad("%s: %s", other_path, strerror(errno));
	opens++;
	for (int i = 0; i < 1000; i++)
		fprintf(f, "line %4d\n", i); /* 10 bytes: 10,000 in three writes, the last with fflush */
	if (fflush(f) != 0)
		target_bad("fflush: %s", strerror(errno));
	ops += 3;
	bytes += 10000;
	rewind(f);
	int lines = 0;
	while (fgets(line, sizeof line, f))
		lines++;
	if (lines != 1000)
		target_bad("%d lines", lines);
	ops += 4; /* three with 10,000 bytes, and the end */
	bytes += 10000;
	stream_ops += 7;
	stream_bytes += 20000;
	fclose(f);
}

static void timed(int result, uint64_t since)
{
	sync_ns += target_now_ns() - since;
	syncs++;
	if (result != 0)
		target_bad("fsync: %s", strerror(errno));
}

NOINLINE void use_disk(void)
{
	uint64_t t = target_now_ns();
	timed(fsync(file), t);
	t = target_now_ns();
	timed(fdatasync(file), t);
}

NOINLINE void open_and_close(void)
{
	int a = open(path, O_RDONLY | O_CLOEXEC), b = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (a < 0 || b < 0 || open("/nonexistent/file", O_RDONLY) >= 0)
		target_bad("open: %s", strerror(errno));
	opens += 2;
	close(a);
	close(b);
}

NOINLINE void work(long rounds)
{
	char buf[MOST] = "x";
	for (long i = 1; i <= rounds; i++) {
		size_t n = 1 + (size_t)(i * 7 % 2000);
		use_file(buf, n);
		use_sockets(buf, n);
		use_pipes(buf, n);
		use_both(n);
		open_and_close();
		if (i % 50 == 0) {
			use_disk();
			use_streams();
		}
	}
}

struct kernel_figures {
	unsigned long long rchar, wchar, syscr, syscw;
	uint64_t read; /* by reading them, bytes */
};

static struct kernel_figures kernel_figures(void)
{
	struct kernel_figures k;
	char text[512];
	long fd = syscall(SYS_open, "/proc/self/io", O_RDONLY | O_CLOEXEC), n = syscall(SYS_read, fd, text, sizeof text - 1);
	if (n <= 0)
		target_bad("/proc/self/io: %s", strerror(errno));
	text[n] = 0;
	if (sscanf(text, "rchar: %llu wchar: %llu syscr: %llu syscw: %llu", &k.rchar, &k.wchar, &k.syscr, &k.syscw) != 4)
		target_bad("/proc/self/io holds %s", text);
	syscall(SYS_close, fd);
	k.read = (uint64_t)n;
	return k;
}

static void prepare(void)
{
	snprintf(other_path, sizeof other_path, "%s.other", path);
	file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	other = open(other_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (file < 0 || other < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) != 0 || pipe(pipes) != 0 || pipe(second_pipe) != 0)
		target_bad("preparing: %s", strerror(errno));
}

static void clean(void)
{
	unlink(path);
	unlink(other_path);
}

int main(int argc, char **argv)
{
	int alone = argc > 1 && strcmp(argv[1], "alone") == 0;
	long rounds = target_arg(argc, argv, 2 + alone, 100);
	snprintf(path, sizeof path, "%s", argc > 1 + alone ? argv[1 + alone] : "transfer.data");
	if (alone) {
		prepare();
		work(rounds);
		clean();
		return 0;
	}
	target_start();
	prepare();
	target_wait_go();
	struct kernel_figures from = kernel_figures();
	work(rounds);
	struct kernel_figures to = kernel_figures();
	clean();
	target_count("rounds", (uint64_t)rounds);
	target_count("ops", ops);
	target_count("bytes", bytes);
	target_count("twice_ops", twice_ops);
	target_count("twice_bytes", twice_bytes);
	target_count("unseen_ops", unseen_ops);
	target_count("unseen_bytes", unseen_bytes);
	target_count("opens", opens);
	target_count("sync_ns", sync_ns);
	target_count("syncs", syncs);
	target_count("file_ops", file_ops);
	target_count("file_bytes", file_bytes);
	target_count("socket_ops", socket_ops);
	target_count("socket_bytes", socket_bytes);
	target_count("pipe_ops", pipe_ops);
	target_count("pipe_bytes", pipe_bytes);
	target_count("stream_ops", stream_ops);
	target_count("stream_bytes", stream_bytes);
	target_count("rchar", to.rchar - from.rchar - from.read);
	target_count("wchar", to.wchar - from.wchar);
	target_count("syscr", to.syscr - from.syscr - 1);
	target_count("syscw", to.syscw - from.syscw);
	printf("DONE\n");
	target_wait_stop();
	return target_finish(target_mix(ops, bytes));
}
