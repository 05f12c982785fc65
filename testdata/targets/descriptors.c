/* Descriptors that are copied, closed and used again for other files, by every way there is; each byte is counted for the file that
 * it goes to. descriptors DIRECTORY (its whole path)
 *
 * It opens its files and sockets, says NAMES, waits for "go", works, says DONE. Copies and what is opened by the path that the file has
 * are used at once; where only the kernel can tell what a new descriptor stands for, half a second later, and what is written at once
 * is strayed. */
#include "target.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

static uint64_t a_bytes, b_bytes, c_bytes, tcp_bytes, unix_bytes, abstract_bytes, udp_bytes, pipe_bytes, memfd_bytes, stray_bytes, elsewhere_bytes;
static char directory[400], block[1 << 16];

static const char *in_directory(const char *name)
{
	static char path[4][512];
	static unsigned turn;
	char *p = path[turn++ % 4];
	snprintf(p, sizeof path[0], "%s/%s", directory, name);
	return p;
}

static int must(int fd, const char *what)
{
	if (fd < 0)
		target_bad("%s: %s", what, strerror(errno));
	return fd;
}

static int open_file(const char *name) { return must(open(in_directory(name), O_RDWR | O_CREAT | O_CLOEXEC, 0600), name); }

NOINLINE void put(int fd, size_t n, uint64_t *counted)
{
	if (write(fd, block, n) != (ssize_t)n)
		target_bad("write %d: %s", fd, strerror(errno));
	*counted += n;
}

NOINLINE void get(int fd, size_t n, uint64_t *counted)
{
	if (recv(fd, block, n, 0) != (ssize_t)n)
		target_bad("recv %d: %s", fd, strerror(errno));
	*counted += n;
}

static void settle(void) { target_sleep_us(500000); }

/* again opens a file on a descriptor that was just closed. */
static void again(int closed, const char *name)
{
	int fd = open_file(name);
	if (fd != closed)
		target_bad("%s is open on %d, not on %d", name, fd, closed);
}

NOINLINE void copies(int a, int a2, int b)
{
	int a3 = must(dup(a), "dup"), a4 = must(fcntl(a2, F_DUPFD_CLOEXEC, 100), "F_DUPFD"), a5 = open_file("a");
	put(a, 1000, &a_bytes);
	put(a2, 200, &a_bytes);
	put(b, 30, &b_bytes);
	put(a3, 4, &a_bytes);
	put(a4, 50, &a_bytes);
	put(a5, 600, &a_bytes);
	if (dup2(b, a3) != a3 || dup3(b, a4, O_CLOEXEC) != a4) /* what they stand for is known at once */
		target_bad("dup2: %s", strerror(errno));
	put(a3, 7000, &b_bytes);
	put(a4, 80, &b_bytes);
	close(a3);
	close(a4);
	close(a5);
}

NOINLINE void reused(int a)
{
	close(a);
	again(a, "c");
	put(a, 500, &c_bytes);
	close(a);
	again(a, "a");
	put(a, 20, &a_bytes);
	FILE *f = fdopen(a, "r+");
	if (!f || fclose(f) != 0)
		target_bad("fclose: %s", strerror(errno));
	again(a, "b");
	put(a, 60, &b_bytes);
	syscall(SYS_close, a); /* seen by nobody but the kernel */
	again(a, "c");
	put(a, 8, &c_bytes);
	close(a);
}

/* What is written at once to a file that was opened by another name belongs to nobody that is known yet, and never to the last. */
NOINLINE void strayed(int a)
{
	if ((symlink("c", in_directory("c.link")) != 0 || symlink("a", in_directory("a.link")) != 0) && errno != EEXIST)
		target_bad("symlink: %s", strerror(errno));
	again(a, "c.link");
	put(a, 300, &stray_bytes);
	settle();
	put(a, 900, &c_bytes);
	close(a);
	again(a, "a.link");
	put(a, 40, &stray_bytes);
	settle();
	put(a, 77, &a_bytes);
	close(a);
}

/* Files that are never open for long, by their whole path or from where the program is. */
NOINLINE void briefly(int a)
{
	for (int i = 0; i < 100; i++) {
		const char *name = i % 3 ? "c" : "b";
		if (i % 2 == 0)
			again(a, name);
		else if (open(name, O_RDWR | O_CLOEXEC) != a)
			target_bad("%s: %s", name, strerror(errno));
		put(a, (size_t)i, i % 3 ? &c_bytes : &b_bytes);
		close(a);
	}
}

/* open_path opens what a path of three parts names, on a descriptor that was just closed. */
static void open_path(int closed, const char *from, const char *between, const char *name)
{
	char path[512];
	snprintf(path, sizeof path, "%s%s%s", from, between, name);
	int fd = must(open(path, O_RDWR | O_CLOEXEC | O_CREAT, 0600), path);
	if (fd != closed)
		target_bad("%s is open on %d, not on %d", path, fd, closed);
}

/* The same path is written in several ways, and then what are other paths but for one sign. */
NOINLINE void spelled(int a)
{
	char slashes[512];
	snprintf(slashes, sizeof slashes, "/.//%s", directory);
	const char *ways[][2] = {{directory, "//"}, {directory, "/./"}, {directory, "///.//./"}, {"", "./"}, {".", "//./"}, {slashes, "/"}};
	enum { WAYS = sizeof ways / sizeof *ways };
	for (size_t i = 0; i < 10 * WAYS; i++) {
		const char *name = i % 3 ? "c" : "b";
		open_path(a, ways[i % WAYS][0], ways[i % WAYS][1], name);
		put(a, i + 1, i % 3 ? &c_bytes : &b_bytes);
		close(a);
	}
	const char *others[][2] = {{"/.", "c"}, {"/..", "c"}, {"/", "c."}, {"/", "c.."}, {"/./.", "c"}, {"//", "cc"}};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		open_path(a, directory, others[i][0], others[i][1]);
		put(a, 1000, &stray_bytes);
		close(a);
	}
}

/* A child that is started closes descriptors of its own, while it still looks like a thread of this program. */
NOINLINE void spawned(int a2, int b)
{
	posix_spawn_file_actions_t actions;
	char *args[] = {"true", NULL}, *env[] = {NULL};
	pid_t child;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, a2, b);
	posix_spawn_file_actions_addclose(&actions, a2);
	if (posix_spawn(&child, "/bin/true", &actions, NULL, args, env) != 0)
		target_bad("posix_spawn: %s", strerror(errno));
	put(a2, 17, &a_bytes);
	put(b, 19, &b_bytes);
	waitpid(child, NULL, 0);
	put(a2, 23, &a_bytes);
	posix_spawn_file_actions_destroy(&actions);
}

NOINLINE void gone(int a2, int b)
{
	if (unlink(in_directory("a")) != 0 || rename(in_directory("b"), in_directory("b.renamed")) != 0)
		target_bad("unlink: %s", strerror(errno));
	put(a2, 111, &a_bytes);
	put(b, 222, &b_bytes);
	settle();
	put(a2, 333, &a_bytes);
	put(b, 444, &b_bytes);
}

struct ends {
	int to, from, listening;
};

static struct ends connected(int domain, struct sockaddr *at, socklen_t size)
{
	struct ends e;
	e.listening = must(socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
	must(bind(e.listening, at, size), "bind");
	must(listen(e.listening, 1), "listen");
	must(getsockname(e.listening, at, &size), "getsockname");
	e.to = must(socket(domain, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
	must(connect(e.to, at, size), "connect");
	e.from = must(accept(e.listening, NULL, NULL), "accept");
	return e;
}

static struct ends tcp(void)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct ends e = connected(AF_INET, (struct sockaddr *)&in, sizeof in);
	printf("NAME tcp tcp 127.0.0.1:%d\n", ntohs(in.sin_port));
	return e;
}

static struct ends local(int abstract)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	if (abstract)
		snprintf(un.sun_path + 1, sizeof un.sun_path - 1, "culprit-descriptors-%d", (int)getpid());
	else
		snprintf(un.sun_path, sizeof un.sun_path, "%s", in_directory("socket"));
	if (!abstract)
		unlink(un.sun_path); /* of an earlier run */
	socklen_t size = (socklen_t)(sizeof un.sun_family + (abstract ? 1 + strlen(un.sun_path + 1) : sizeof un.sun_path));
	printf("NAME %s unix %s%s\n", abstract ? "abstract" : "unix", abstract ? "@" : "", un.sun_path + abstract);
	return connected(AF_UNIX, (struct sockaddr *)&un, size);
}

static int datagrams(struct sockaddr_in *to)
{
	int fd = must(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");
	socklen_t size = sizeof *to;
	*to = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	must(bind(fd, (struct sockaddr *)to, size), "bind");
	must(getsockname(fd, (struct sockaddr *)to, &size), "getsockname");
	printf("NAME udp udp 127.0.0.1:%d\n", ntohs(to->sin_port));
	return fd;
}

int main(int argc, char **argv)
{
	struct sockaddr_in self;
	int pipes[2];
	target_start();
	target_beat();
	snprintf(directory, sizeof directory, "%s", argc > 1 ? argv[1] : ".");
	must(chdir(directory), directory);
	int a = open_file("a"), a2 = must(dup(a), "dup"), b = open_file("b"), c = open_file("c");
	struct ends t = tcp(), u = local(0), n = local(1);
	int d = datagrams(&self), m = must((int)syscall(SYS_memfd_create, "numbers", 1), "memfd");
	must(pipe(pipes), "pipe");
	struct stat st;
	fstat(pipes[0], &st);
	printf("NAME pipe pipe:[%llu]\n", (unsigned long long)st.st_ino);
	printf("NAMES\n");
	target_wait_go();
	close(c);
	copies(a, a2, b);
	put(t.to, 1234, &tcp_bytes);
	put(u.to, 321, &unix_bytes);
	get(u.from, 321, &unix_bytes); /* what a server has accepted has the server's name */
	put(n.to, 432, &abstract_bytes);
	get(n.from, 432, &abstract_bytes);
	must((int)sendto(d, block, 77, 0, (struct sockaddr *)&self, sizeof self), "sendto");
	udp_bytes += 77;
	get(d, 77, &udp_bytes);
	put(m, 99, &memfd_bytes);
	put(pipes[1], 55, &pipe_bytes);
	if (read(pipes[0], block, 55) != 55)
		target_bad("read: %s", strerror(errno));
	pipe_bytes += 55;
	get(t.from, 1234, &elsewhere_bytes); /* its name is that of the other end, which nobody has told the test */
	close(t.from); /* the name of the connection stays */
	reused(a);
	strayed(a);
	briefly(a);
	spelled(a);
	spawned(a2, b);
	put(t.to, 1, &tcp_bytes);
	gone(a2, b);
	target_count("a", a_bytes);
	target_count("b", b_bytes);
	target_count("c", c_bytes);
	target_count("tcp", tcp_bytes);
	target_count("unix", unix_bytes);
	target_count("abstract", abstract_bytes);
	target_count("udp", udp_bytes);
	target_count("pipe", pipe_bytes);
	target_count("memfd", memfd_bytes);
	target_count("stray", stray_bytes);
	target_count("elsewhere", elsewhere_bytes);
	target_count("pipe_put", pipe_bytes / 2);
	printf("DONE\n");
	target_wait_stop();
	return target_finish(target_mix(a_bytes, b_bytes));
}
