// Cause: one thread makes the jobs, and each takes it ten milliseconds of computing in read_record(); the eight workers of the pool, which need a moment for one, wait for it.
// Right: CPUbound at read_record()
// Never: worker()
#define JOB 100000
#include "pool.h"

__attribute__((noinline)) uint32_t read_record(uint32_t seed)
{
	return compute(seed, 8000000) | 1;
}

__attribute__((noinline)) uint32_t produce(uint32_t seed)
{
	uint32_t job = read_record(seed);
	put_job(job);
	return job;
}

int main(void)
{
	begin_workers();
	puts("ready");
	fflush(stdout);
	for (uint32_t seed = 1;;)
		seed = produce(seed);
}
