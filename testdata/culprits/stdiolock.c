// Cause: six threads print long records into one stdio stream; each waits over half of its time for the lock that stdio
// keeps in it while it formats, in log_samples().
// Right: ExcessiveSyncWaitingTime at log_samples()
// Args: DIR
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 6, VALUES = 48, RECORDS_PER_FILE = 20000 };

static FILE *samples_log;
static unsigned records;

__attribute__((noinline)) void measure(double *values, uint64_t *seed)
{
	for (int i = 0; i < VALUES; i++) {
		for (int k = 0; k < 40; k++)
			*seed = *seed * 6364136223846793005u + 1442695040888963407u;
		values[i] = (double)(*seed >> 11) / 9007199254740992.0;
	}
}

__attribute__((noinline)) void log_samples(const double *v)
{
	fprintf(samples_log,
		"%.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g "
		"%.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g "
		"%.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g %.15g\n",
		v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11], v[12], v[13], v[14], v[15],
		v[16], v[17], v[18], v[19], v[20], v[21], v[22], v[23], v[24], v[25], v[26], v[27], v[28], v[29], v[30], v[31],
		v[32], v[33], v[34], v[35], v[36], v[37], v[38], v[39], v[40], v[41], v[42], v[43], v[44], v[45], v[46], v[47]);
	if (__atomic_add_fetch(&records, 1, __ATOMIC_RELAXED) % RECORDS_PER_FILE == 0)
		rewind(samples_log);
}

static void *sampler(void *arg)
{
	uint64_t seed = (uint64_t)(uintptr_t)arg;
	double values[VALUES];
	for (;;) {
		measure(values, &seed);
		log_samples(values);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/samples.log", argc > 1 ? argv[1] : ".");
	samples_log = fopen(path, "w");
	if (!samples_log) {
		perror(path);
		return 1;
	}
	static char buffer[1 << 20];
	setvbuf(samples_log, buffer, _IOFBF, sizeof buffer);
	pthread_t t[THREADS];
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, sampler, (void *)(i + 1));
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return 0;
}
