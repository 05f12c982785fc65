/* Consumers wait in take for a producer that computes each item slowly in make_item: the wait is the symptom,
 * the producer the cause. Every item is consumed once.
 * condvar [consumers] [microseconds to make an item] */
#include "target.h"
#include <pthread.h>

enum { QUEUE = 16, MAX_CONSUMERS = 32 };
pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER, queue_drained = PTHREAD_COND_INITIALIZER;
static uint64_t queue[QUEUE];
static unsigned head, tail;
static int closed;
static uint64_t produced, produced_sum, consumed, consumed_sum;
static long make_us = 2000;
static volatile int on = 1;

NOINLINE uint64_t make_item(uint64_t n)
{
	uint64_t end = target_now_ns() + (uint64_t)make_us * 1000, h;
	do {
		h = n;
		for (int i = 0; i < 500; i++)
			h = target_mix(h, (uint64_t)i);
	} while (target_now_ns() < end);
	return h;
}

NOINLINE void put(uint64_t item)
{
	pthread_mutex_lock(&queue_lock);
	while (head - tail == QUEUE)
		pthread_cond_wait(&queue_drained, &queue_lock);
	queue[head++ % QUEUE] = item;
	pthread_cond_signal(&queue_filled);
	pthread_mutex_unlock(&queue_lock);
}

NOINLINE int take(uint64_t *item)
{
	pthread_mutex_lock(&queue_lock);
	while (head == tail && !closed)
		pthread_cond_wait(&queue_filled, &queue_lock);
	int got = head != tail;
	if (got) {
		*item = queue[tail++ % QUEUE];
		pthread_cond_signal(&queue_drained);
	}
	pthread_mutex_unlock(&queue_lock);
	return got;
}

static void *producer(void *arg)
{
	while (on) {
		uint64_t item = make_item(produced);
		produced++;
		produced_sum += item;
		put(item);
	}
	pthread_mutex_lock(&queue_lock);
	closed = 1;
	pthread_cond_broadcast(&queue_filled);
	pthread_mutex_unlock(&queue_lock);
	return arg;
}

NOINLINE void consume(uint64_t item)
{
	__atomic_fetch_add(&consumed, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&consumed_sum, item, __ATOMIC_RELAXED);
}

static void *consumer(void *arg)
{
	uint64_t item;
	while (take(&item))
		consume(item);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t p, c[MAX_CONSUMERS];
	target_start();
	int consumers = (int)target_arg(argc, argv, 1, 3);
	make_us = target_arg(argc, argv, 2, make_us);
	if (consumers < 1 || consumers > MAX_CONSUMERS)
		target_bad("consumers: 1 to %d", MAX_CONSUMERS);
	pthread_create(&p, NULL, producer, NULL);
	for (int i = 0; i < consumers; i++)
		pthread_create(&c[i], NULL, consumer, NULL);
	target_wait_stop();
	on = 0;
	pthread_join(p, NULL);
	for (int i = 0; i < consumers; i++)
		pthread_join(c[i], NULL);
	if (produced != consumed || produced_sum != consumed_sum)
		target_bad("%llu made, %llu consumed", (unsigned long long)produced, (unsigned long long)consumed);
	target_count("make_item", produced);
	target_count("consume", consumed);
	return target_finish(target_mix(7, 7));
}
