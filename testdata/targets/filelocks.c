/* Waits for the locks of files, each of which a partner has for 5 ms: by flock, by a lock of an open file, by fcntl and by lockf. A
 * process does not wait for its own locks of the last two kinds: there the partner is a child.
 * filelocks DIRECTORY [rounds]; warm: the same without counting */
#include "target.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

enum { NOTHING, FLOCK, OFD, FCNTL, LOCKF, END };

static const char *const names[END] = {"", "flock", "ofd", "fcntl", "lockf"};
static char paths[END][4096];
static int own[END], other[END]; /* descriptors of the waiter and of the partner in this process */
static atomic_int *turns;        /* of the thread and of the child: what is waited for now; negative once the partner has it */
static uint64_t ns[END], tries;
static atomic_ullong calls; /* that may wait, of this process */
static volatile int warm, finished;

static void fail(const char *what)
{
	target_bad("%s: %s", what, strerror(errno));
}

static void lock(int fd, int what, int take)
{
	struct flock whole = {.l_type = take ? F_WRLCK : F_UNLCK, .l_whence = SEEK_SET};
	int failed = 0;
	calls += (unsigned)take;
	if (what == FLOCK)
		failed = flock(fd, take ? LOCK_EX : LOCK_UN);
	else if (what == OFD)
		failed = fcntl(fd, take ? F_OFD_SETLKW : F_OFD_SETLK, &whole);
	else if (what == FCNTL)
		failed = fcntl(fd, take ? F_SETLKW : F_SETLK, &whole);
	else
		failed = lockf(fd, take ? F_LOCK : F_ULOCK, 0);
	if (failed)
		fail(names[what]);
}

/* partner has each lock for 5 ms when it is its turn. */
static void partner(atomic_int *turn, const int *fds)
{
	for (;;) {
		int what = *turn;
		if (what == END)
			return;
		if (what <= NOTHING) {
			target_sleep_us(100);
			continue;
		}
		lock(fds[what], what, 1);
		*turn = -what;
		target_sleep_us(5000);
		lock(fds[what], what, 0);
		*turn = NOTHING;
	}
}

static void *thread_partner(void *arg)
{
	partner(&turns[0], other);
	return arg;
}

static void child_partner(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	int fds[END] = {0};
	for (int what = FCNTL; what <= LOCKF; what++)
		fds[what] = open(paths[what], O_RDWR);
	partner(&turns[1], fds);
	_exit(0);
}

/* try_lock asks for a lock without waiting, which fails unless the partner has let go of it already. */
static void try_lock(int what)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	if (what == FLOCK)
		tries += flock(own[what], LOCK_EX | LOCK_NB) != 0;
	else
		tries += fcntl(own[what], what == OFD ? F_OFD_SETLK : F_SETLK, &whole) != 0;
}

static uint64_t wait_for(int what)
{
	atomic_int *turn = &turns[what >= FCNTL];
	*turn = what;
	while (*turn == what)
		target_sleep_us(100);
	try_lock(what);
	uint64_t since = target_now_ns();
	lock(own[what], what, 1);
	uint64_t took = target_now_ns() - since;
	lock(own[what], what, 0);
	while (*turn != NOTHING)
		target_sleep_us(100);
	return took;
}

NOINLINE void wait_flock(void)
{
	ns[FLOCK] += wait_for(FLOCK);
}

NOINLINE void wait_ofd(void)
{
	ns[OFD] += wait_for(OFD);
}

NOINLINE void wait_fcntl(void)
{
	ns[FCNTL] += wait_for(FCNTL);
}

NOINLINE void wait_lockf(void)
{
	ns[LOCKF] += wait_for(LOCKF);
}

static void *waiter(void *arg)
{
	for (long n = *(long *)arg; n > 0; n--) {
		wait_flock();
		wait_ofd();
		wait_fcntl();
		wait_lockf();
	}
	finished = 1;
	return NULL;
}

/* let has a thread wait that many times in each way. */
static void let(long n)
{
	pthread_t a, b;
	finished = 0;
	turns[0] = NOTHING;
	pthread_create(&b, NULL, thread_partner, NULL);
	pthread_create(&a, NULL, waiter, &n);
	while (!finished)
		target_poll(20);
	turns[0] = END;
	target_sleep_us(100000); /* so that nobody is waited for when they are joined */
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}

static void command(const char *line)
{
	if (strcmp(line, "warm") == 0)
		warm = 1;
}

static void prepare(const char *directory)
{
	turns = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (turns == MAP_FAILED)
		fail("mmap");
	for (int what = FLOCK; what < END; what++) {
		snprintf(paths[what], sizeof paths[what], "%s/%s", directory, names[what]);
		own[what] = open(paths[what], O_RDWR | O_CREAT, 0600);
		other[what] = open(paths[what], O_RDWR);
		if (own[what] < 0 || other[what] < 0)
			fail(paths[what]);
	}
}

int main(int argc, char **argv)
{
	target_command = command;
	target_start();
	long rounds = target_arg(argc, argv, 2, 10);
	prepare(argc > 1 ? argv[1] : ".");
	pid_t child = fork();
	if (child < 0)
		fail("fork");
	if (child == 0)
		child_partner();
	while (!target_going) {
		target_poll(20);
		if (warm) {
			let(30);
			warm = 0;
			puts("WARM");
		}
	}
	memset(ns, 0, sizeof ns);
	calls = 0;
	tries = 0;
	let(rounds);
	turns[1] = END;
	waitpid(child, NULL, 0);
	for (int what = FLOCK; what < END; what++)
		target_count(names[what], ns[what]);
	target_count("calls", calls);
	target_count("tries", tries);
	puts("DONE");
	target_wait_stop();
	return target_finish(target_mix(14, (uint64_t)rounds));
}
