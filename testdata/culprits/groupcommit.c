// Cause: one thread of six waits for the disk, in the fsync of flush_journal(), and the five others wait for that thread, in
// commit_record(): all of the time is the journal's.
// Right: ExcessiveIOBlockingTime at flush_journal()
// Right: ExcessiveSyncWaitingTime at commit_record() and flush_journal()
// Args: DIR
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WRITERS = 5, RECORD = 200, JOURNAL_BYTES = 8 << 20 };

static pthread_mutex_t journal_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t submitted = PTHREAD_COND_INITIALIZER;
static pthread_cond_t durable = PTHREAD_COND_INITIALIZER;
static char batch[64 * RECORD];
static size_t batch_bytes;
static uint64_t batch_number = 1, durable_number;
static int journal;

__attribute__((noinline)) void flush_journal(const char *data, size_t size)
{
	static off_t at;
	if (at + (off_t)size > JOURNAL_BYTES)
		at = 0;
	if (pwrite(journal, data, size, at) != (ssize_t)size || fsync(journal)) {
		perror("journal");
		exit(1);
	}
	at += (off_t)size;
}

static void *journal_writer(void *arg)
{
	char copy[sizeof batch];
	(void)arg;
	pthread_setname_np(pthread_self(), "journal");
	pthread_mutex_lock(&journal_lock);
	for (;;) {
		while (batch_bytes == 0)
			pthread_cond_wait(&submitted, &journal_lock);
		size_t size = batch_bytes;
		uint64_t number = batch_number++;
		memcpy(copy, batch, size);
		batch_bytes = 0;
		pthread_mutex_unlock(&journal_lock);
		flush_journal(copy, size);
		pthread_mutex_lock(&journal_lock);
		durable_number = number;
		pthread_cond_broadcast(&durable);
	}
	return NULL;
}

__attribute__((noinline)) void commit_record(const char *record)
{
	pthread_mutex_lock(&journal_lock);
	memcpy(batch + batch_bytes, record, RECORD);
	batch_bytes += RECORD;
	uint64_t number = batch_number;
	pthread_cond_signal(&submitted);
	while (durable_number < number)
		pthread_cond_wait(&durable, &journal_lock);
	pthread_mutex_unlock(&journal_lock);
}

__attribute__((noinline)) void prepare_record(char *record, uint64_t n)
{
	uint64_t h = n;
	for (int i = 0; i < RECORD; i++) {
		h = (h ^ (h >> 9)) * 1099511628211u;
		record[i] = (char)('a' + h % 26);
	}
}

static void *writer(void *arg)
{
	char record[RECORD];
	for (uint64_t n = (uint64_t)(uintptr_t)arg;; n += WRITERS) {
		prepare_record(record, n);
		commit_record(record);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/journal", argc > 1 ? argv[1] : ".");
	journal = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (journal < 0) {
		perror(path);
		return 1;
	}
	pthread_t t[WRITERS];
	for (uintptr_t i = 0; i < WRITERS; i++)
		pthread_create(&t[i], NULL, writer, (void *)i);
	puts("ready");
	fflush(stdout);
	journal_writer(NULL);
}
