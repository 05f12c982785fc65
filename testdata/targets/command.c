/* A server of commands, as far as its arguments go: structures behind structures, texts, a bit field, arguments on the stack, and
 * pointers that lead nowhere. Two threads serve; a third maps and unmaps the page that one of the pointers leads to all the while.
 * command [N commands a thread] */
#include "target.h"
#include <pthread.h>
#include <sys/mman.h>

enum { THREADS = 2, CHURNS = 64 };
enum level { LOW = -2, HIGH = 3 };

struct command {
	short arity;
	unsigned hot : 1;
	const char *name;
	struct { unsigned char first, last; } keys;
	enum level level;
};

struct client {
	int fd;
	int argc;
	char **argv;
	char name[12];
	struct command *last;
	struct client *peer;
	double load;
};

struct reply {
	long parts[3];
	char tag[8];
};

static struct command table[] = {
	{2, 1, "GET", {1, 200}, LOW}, {-3, 0, "SET", {1, 3}, HIGH}, {2, 0, "GETX", {2, 9}, LOW},
	{1, 1, "G", {0, 0}, HIGH}, {-2, 0, "DEL", {1, 255}, LOW}, {5, 0, "ZRANGEBYSCOREWITHLIMITS", {1, 1}, HIGH},
};
enum { COMMANDS = sizeof table / sizeof *table };

struct tally {
	uint64_t called[COMMANDS], argc, arity, last_key, low, named, peers, seventh, eighth, ninth, tagged, third, opened, dangling;
	uint64_t hash;
};

static struct tally tallies[THREADS];
static long commands_each = 20000;
static int left_to_do;
static char *edge, *churned; /* edge ends where memory ends */

NOINLINE uint64_t call(struct client *c, struct command *cmd)
{
	struct tally *t = &tallies[c->fd - 100];
	t->called[cmd - table]++;
	t->argc += (uint64_t)c->argc;
	t->arity += (uint64_t)(int64_t)cmd->arity;
	t->last_key += cmd->keys.last;
	t->low += cmd->level == LOW;
	t->named += strcmp(c->name, "worker") == 0;
	if (c->peer && c->peer->last)
		t->peers += strcmp(c->peer->last->name, "DEL") == 0;
	return target_mix((uint64_t)c->fd, (uint64_t)cmd->arity);
}

NOINLINE uint64_t respond(int fd, int a, int b, int c, int d, int e, signed char seventh, const char *eighth, struct reply r, const struct client *ninth)
{
	struct tally *t = &tallies[fd - 100];
	t->seventh += (uint64_t)(int64_t)seventh;
	t->eighth += strcmp(eighth, "bulk") == 0;
	t->ninth += (uint64_t)ninth->argc;
	t->tagged += strcmp(r.tag, "pong") == 0;
	t->third += (uint64_t)r.parts[2];
	return target_mix((uint64_t)(a + b + c + d + e), (uint64_t)(r.parts[1] + seventh));
}

NOINLINE int opens(const char *path, double weight, int flags)
{
	return (weight > 0) + flags + (strcmp(path, "/etc/hosts") == 0);
}

/* Nothing is read here of what the pointers lead to. */
NOINLINE uint64_t dangling(const char *text, const struct client *c)
{
	__asm__ volatile(""); /* or calls whose result nobody needs are left out */
	return target_mix((uint64_t)(uintptr_t)text, (uint64_t)(uintptr_t)c);
}

static void serve(struct tally *t, int fd, long i, uint64_t *h)
{
	static const char *const path[] = {"/etc/hosts", "/etc/host", "/etc/hostsx", "bulk"};
	char *argv[] = {"x", NULL};
	struct client peer = {7, 1, argv, "peer", &table[(i / 3) % COMMANDS], NULL, 0.5};
	struct client c = {fd, (int)(i % 5) + 1, argv, "worker", NULL, i % 4 ? &peer : NULL, 1.5};
	struct reply r = {{i, 2, 3 + i % 2}, "pong"};
	if (i % 2)
		strcpy(c.name, i % 3 ? "workers" : "wor");
	if (i % 5 == 0)
		r.tag[3] = 'x';
	*h = target_mix(*h, call(&c, &table[(i * 7 + i / 10) % COMMANDS]));
	*h = target_mix(*h, respond(fd, 1, 2, 3, 4, 5, (signed char)(i % 7 - 2), path[i % 4], r, &c));
	t->opened += i % 4 == 0;
	*h = target_mix(*h, (uint64_t)opens(path[i % 4], (double)i, 1));
}

static void dangle(struct tally *t, long i)
{
	char *const text[] = {NULL, (char *)8, edge - 1, edge - 3, edge - 5, edge, (char *)1 + (1ul << 47), (char *)-1, churned, churned + 4090, (char *)-4096};
	const int n = sizeof text / sizeof *text;
	dangling(text[i % n], (struct client *)(void *)text[(i / n) % n]);
	t->dangling++;
}

static void *server(void *arg)
{
	struct tally *t = arg;
	for (long i = 0; i < commands_each; i++) {
		serve(t, 100 + (int)(t - tallies), i, &t->hash);
		dangle(t, i);
	}
	__atomic_fetch_sub(&left_to_do, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void *churner(void *arg)
{
	(void)arg;
	while (__atomic_load_n(&left_to_do, __ATOMIC_ACQUIRE) > 0) {
		for (int i = 0; i < CHURNS; i++) {
			if (munmap(churned, 4096) != 0 || mmap(churned, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != churned)
				target_bad("churn: %s", strerror(errno));
			memcpy(churned, "here", 5);
		}
		target_sleep_us(50);
	}
	return NULL;
}

static void map_pages(void)
{
	char *p = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED || munmap(p + 4096, 4096) != 0)
		target_bad("mmap");
	edge = p + 4096;
	memcpy(edge - 5, "hxhi", 5); /* "hi" and its end are the last three bytes */
	churned = p + 2 * 4096;
}

#define SUM(field) (tallies[0].field + tallies[1].field)

int main(int argc, char **argv)
{
	pthread_t tid[THREADS + 1];
	target_start();
	commands_each = target_arg(argc, argv, 1, commands_each);
	map_pages();
	target_wait_go();
	left_to_do = THREADS;
	for (int i = 0; i <= THREADS; i++)
		if (pthread_create(&tid[i], NULL, i < THREADS ? server : churner, i < THREADS ? &tallies[i] : NULL) != 0)
			target_bad("pthread_create");
	while (__atomic_load_n(&left_to_do, __ATOMIC_ACQUIRE) > 0)
		target_poll(10);
	for (int i = 0; i <= THREADS; i++)
		pthread_join(tid[i], NULL);
	for (int i = 0; i < COMMANDS; i++) {
		char name[64];
		snprintf(name, sizeof name, "call_%s", table[i].name);
		target_count(name, SUM(called[i]));
	}
	target_count("argc", SUM(argc));
	target_count("arity", SUM(arity));
	target_count("last_key", SUM(last_key));
	target_count("low", SUM(low));
	target_count("named", SUM(named));
	target_count("peers", SUM(peers));
	target_count("seventh", SUM(seventh));
	target_count("eighth", SUM(eighth));
	target_count("ninth", SUM(ninth));
	target_count("tagged", SUM(tagged));
	target_count("third", SUM(third));
	target_count("opened", SUM(opened));
	target_count("dangling", SUM(dangling));
	printf("DONE\n");
	if (target_stdin_open)
		target_wait_stop();
	return target_finish(target_mix(tallies[0].hash, tallies[1].hash));
}
