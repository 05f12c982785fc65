// Cause: a reader and a parser pass each record on by itself through a slot for one record, so that they wait for each other tens of thousands of times a second, each time for a moment.
// Right: FrequentSyncOperations|ExcessiveSyncWaitingTime at take_record()
// Right: FrequentSyncOperations|ExcessiveSyncWaitingTime at put_record()
// Right: FrequentSyncOperations|ExcessiveSyncWaitingTime at lock slot_changed
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

pthread_mutex_t slot_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t slot_changed = PTHREAD_COND_INITIALIZER;
static uint64_t slot;
static int full;
static volatile uint64_t parsed;

static uint64_t mix(uint64_t h, int rounds)
{
	for (int i = 0; i < rounds; i++)
		h = (h ^ (h >> 29)) * 0xbf58476d1ce4e5b9u + (uint64_t)i;
	return h;
}

NOINLINE uint64_t read_record(uint64_t last) { return mix(last, 6000); }

NOINLINE void parse_record(uint64_t record) { parsed ^= mix(record, 6000); }

NOINLINE void put_record(uint64_t record)
{
	pthread_mutex_lock(&slot_lock);
	while (full)
		pthread_cond_wait(&slot_changed, &slot_lock);
	slot = record;
	full = 1;
	pthread_cond_signal(&slot_changed);
	pthread_mutex_unlock(&slot_lock);
}

NOINLINE uint64_t take_record(void)
{
	pthread_mutex_lock(&slot_lock);
	while (!full)
		pthread_cond_wait(&slot_changed, &slot_lock);
	uint64_t record = slot;
	full = 0;
	pthread_cond_signal(&slot_changed);
	pthread_mutex_unlock(&slot_lock);
	return record;
}

static void *reader(void *arg)
{
	for (uint64_t record = 1;; put_record(record))
		record = read_record(record);
	return arg;
}

int main(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	cpu_set_t one; /* as in a container that has one CPU: nobody can look again and again for the other */
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof one, &one);
	pthread_t t;
	pthread_create(&t, NULL, reader, NULL);
	pthread_setname_np(t, "reader");
	puts("ready");
	fflush(stdout);
	for (;;)
		parse_record(take_record());
}
