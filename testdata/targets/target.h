/* What every target program shares: how it is told to go and to stop, its heartbeat, its last line.
 *
 * Lines in (stdin):   go, stop, and whatever the target itself understands. SIGTERM means stop as well.
 *                     The end of a pipe means stop, so that a target never outlives its test;
 *                     with a terminal or /dev/null as stdin the target starts at once and runs until SIGTERM.
 * Lines out (stdout): READY <pid> (its first threads are there), BEAT <n> (every 50 ms), COUNT <name> <n>, BAD <why>, OK <hash>.
 * Exit status:        TARGET_OK after OK, TARGET_BAD after BAD. */
#ifndef TARGET_H
#define TARGET_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TARGET_OK 7
#define TARGET_BAD 1
#define NOINLINE __attribute__((noinline, noclone))
#define MAYBE_UNUSED __attribute__((unused))

static volatile sig_atomic_t target_stopping, target_going;
static void (*target_command)(const char *line); /* set by a target that understands more than go and stop */
static int target_stdin_open = 1;

MAYBE_UNUSED static void target_on_term(int sig)
{
	(void)sig;
	target_stopping = 1;
	target_going = 1;
}

MAYBE_UNUSED static uint64_t target_now_ns(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* target_mix adds a value to a hash (splitmix64's finaliser). */
MAYBE_UNUSED static inline uint64_t target_mix(uint64_t h, uint64_t v)
{
	h ^= v + 0x9e3779b97f4a7c15u;
	h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
	h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
	return h ^ (h >> 31);
}

/* target_bad ends the program: something is not as it would be without instrumentation. */
MAYBE_UNUSED __attribute__((format(printf, 1, 2), noreturn)) static void target_bad(const char *format, ...)
{
	char text[256];
	va_list ap;
	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	printf("BAD %s\n", text);
	fflush(stdout);
	_exit(TARGET_BAD);
}

MAYBE_UNUSED static void target_count(const char *name, uint64_t n)
{
	printf("COUNT %s %llu\n", name, (unsigned long long)n);
}

/* target_finish prints the last line and returns the exit status for main. */
MAYBE_UNUSED static int target_finish(uint64_t hash)
{
	printf("OK %016llx\n", (unsigned long long)hash);
	fflush(stdout);
	return TARGET_OK;
}

/* target_start must be called first in main. READY comes with the first target_poll or target_beat. */
MAYBE_UNUSED static void target_start(void)
{
	struct sigaction sa;
	const char *lifetime = getenv("CULPRIT_TARGET_SECONDS");
	memset(&sa, 0, sizeof sa);
	sa.sa_handler = target_on_term;
	sigaction(SIGTERM, &sa, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	alarm(lifetime ? (unsigned)atoi(lifetime) : 600); /* never forgotten on somebody's machine */
}

MAYBE_UNUSED static void target_take_line(const char *line)
{
	if (strcmp(line, "go") == 0)
		target_going = 1;
	else if (strcmp(line, "stop") == 0)
		target_stopping = target_going = 1;
	else if (target_command)
		target_command(line);
}

MAYBE_UNUSED static void target_read_stdin(void)
{
	static char buf[256];
	static size_t have;
	ssize_t n = read(0, buf + have, sizeof buf - 1 - have);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		struct stat st;
		target_stdin_open = 0;
		target_going = 1;
		if (fstat(0, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
			target_stopping = 1;
		return;
	}
	have += (size_t)n;
	for (;;) {
		char *end = (char *)memchr(buf, '\n', have);
		if (!end)
			break;
		*end = 0;
		char line[256];
		strcpy(line, buf);
		have -= (size_t)(end + 1 - buf);
		memmove(buf, end + 1, have);
		target_take_line(line);
	}
	if (have >= sizeof buf - 1)
		have = 0;
}

MAYBE_UNUSED static void target_beat(void)
{
	static uint64_t last, beats;
	uint64_t now = target_now_ns();
	if (last == 0)
		printf("READY %d\n", (int)getpid());
	if (now - last < 50000000u)
		return;
	last = now;
	printf("BEAT %llu\n", (unsigned long long)++beats);
}

/* target_poll looks for a line for at most ms milliseconds, and keeps the heart beating. Main thread only. */
MAYBE_UNUSED static void target_poll(int ms)
{
	struct pollfd p = {target_stdin_open ? 0 : -1, POLLIN, 0};
	int n = poll(&p, 1, ms);
	if (n > 0)
		target_read_stdin();
	target_beat();
}

/* target_running polls without waiting; false once the target was told to stop. Main thread only. */
MAYBE_UNUSED static int target_running(void)
{
	target_poll(0);
	return !target_stopping;
}

/* target_wait_go waits for "go". Main thread only. */
MAYBE_UNUSED static void target_wait_go(void)
{
	while (!target_going)
		target_poll(20);
}

/* target_wait_stop keeps the main thread out of the way until "stop". */
MAYBE_UNUSED static void target_wait_stop(void)
{
	while (!target_stopping)
		target_poll(20);
}

/* target_arg is the i-th argument as a number, or the default. */
MAYBE_UNUSED static long target_arg(int argc, char **argv, int i, long otherwise)
{
	return argc > i ? atol(argv[i]) : otherwise;
}

/* target_sleep_us sleeps; a signal does not shorten it. */
MAYBE_UNUSED static void target_sleep_us(long us)
{
	struct timespec ts = {us / 1000000, (us % 1000000) * 1000};
	while (nanosleep(&ts, &ts) != 0 && errno == EINTR)
		;
}
#endif
