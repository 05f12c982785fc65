/* culprit-demo-cpu: a request server that spends its time in one function, four calls below serve_request.
 * Requests are made by the program itself. It prints a line every five seconds and ends at SIGTERM or Ctrl-C. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 2, PRODUCTS = 3000, WORDS = 24, WANTED = 10 };

struct product {
	uint32_t id;
	uint32_t words[WORDS]; /* numbers of the words of its description */
};

struct request {
	uint32_t user;
	uint32_t query[4];
	double best_score;
	uint32_t best_product;
};

static struct product catalogue[PRODUCTS];
static volatile sig_atomic_t stopping;
static uint64_t served;

static void on_stop(int sig)
{
	(void)sig;
	stopping = 1;
}

static uint32_t next_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

__attribute__((noinline)) void load_catalogue(void)
{
	uint32_t state = 2463534242u;
	for (uint32_t i = 0; i < PRODUCTS; i++) {
		catalogue[i].id = i;
		for (int w = 0; w < WORDS; w++)
			catalogue[i].words[w] = next_random(&state) % 5000;
	}
}

__attribute__((noinline)) int check_session(const struct request *r)
{
	return r->user % 97 != 0;
}

__attribute__((noinline)) void parse_request(struct request *r, uint32_t *state)
{
	r->user = next_random(state);
	for (int i = 0; i < 4; i++)
		r->query[i] = next_random(state) % 5000;
	r->best_score = -1;
}

/* The culprit: how far a word is from a query word is computed anew, a digit at a time, for every pair. */
__attribute__((noinline)) double word_distance(uint32_t a, uint32_t b)
{
	double distance = 0;
	while (a || b) {
		uint32_t x = a % 10, y = b % 10;
		distance += x > y ? x - y : y - x;
		a /= 10;
		b /= 10;
	}
	return distance;
}

__attribute__((noinline)) double score_product(const struct product *p, const struct request *r)
{
	double score = 0;
	for (int q = 0; q < 4; q++) {
		double nearest = 1e9;
		for (int w = 0; w < WORDS; w++) {
			double d = word_distance(p->words[w], r->query[q]);
			nearest = d < nearest ? d : nearest;
		}
		score += 100 - nearest;
	}
	return score;
}

__attribute__((noinline)) void rank_products(struct request *r)
{
	for (int i = 0; i < PRODUCTS; i++) {
		double score = score_product(&catalogue[i], r);
		if (score > r->best_score) {
			r->best_score = score;
			r->best_product = catalogue[i].id;
		}
	}
}

__attribute__((noinline)) size_t format_reply(const struct request *r, char *reply, size_t size)
{
	return (size_t)snprintf(reply, size, "user %u product %u score %.1f\n", r->user, r->best_product, r->best_score);
}

__attribute__((noinline)) void search_products(struct request *r, char *reply, size_t size)
{
	rank_products(r);
	format_reply(r, reply, size);
}

__attribute__((noinline)) void serve_request(uint32_t *state)
{
	struct request r;
	char reply[128];
	parse_request(&r, state);
	if (check_session(&r))
		search_products(&r, reply, sizeof reply);
	__atomic_fetch_add(&served, 1, __ATOMIC_RELAXED);
}

static void *worker(void *arg)
{
	uint32_t state = (uint32_t)(uintptr_t)arg * 747796405u + 1;
	while (!stopping)
		serve_request(&state);
	return NULL;
}

int main(void)
{
	pthread_t t[WORKERS];
	signal(SIGTERM, on_stop);
	signal(SIGINT, on_stop);
	setvbuf(stdout, NULL, _IOLBF, 0);
	load_catalogue();
	for (uintptr_t i = 0; i < WORKERS; i++)
		pthread_create(&t[i], NULL, worker, (void *)(i + 1));
	for (int tenths = 0; !stopping; tenths++) {
		usleep(100000);
		if (tenths % 50 == 49)
			printf("shop: %llu requests served\n", (unsigned long long)__atomic_load_n(&served, __ATOMIC_RELAXED));
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_join(t[i], NULL);
	printf("shop: done\n");
	return 0;
}
