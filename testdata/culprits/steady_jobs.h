// What idleworkers and idleworkers1000 share: jobs that come at a rate, and a pool that has time for them.
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "pool.h"

int main(int argc, char **argv)
{
	long rate = argc > 1 ? atol(argv[1]) : 1;
	struct timespec pause = {rate > 1 ? 0 : 1, rate > 1 ? 1000000000 / rate : 0};
	begin_workers();
	usleep(200000);
	puts("ready");
	fflush(stdout);
	for (uint32_t n = 0;; n++) {
		put_job(n);
		nanosleep(&pause, NULL);
	}
}
