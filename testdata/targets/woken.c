/* A program that another wakes 2,000 times a second: timers interrupt processors that are idle then, and hardly ever this program, which
 * computes a little for each message and waits for the next. woken [us that it computes for each] */
#include "target.h"
#include <sys/prctl.h>

static uint64_t compute_ns;

/* The other program: it ends when nobody reads. */
static void wake(int out, int in)
{
	close(in);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGPIPE, SIG_DFL);
	for (;;) {
		struct timespec t = {0, 500000};
		nanosleep(&t, NULL);
		if (write(out, "x", 1) != 1)
			_exit(0);
	}
}

NOINLINE uint64_t answer(void)
{
	uint64_t h = 0, end = target_now_ns() + compute_ns;
	while (target_now_ns() < end)
		h = target_mix(h, 1);
	return h;
}

int main(int argc, char **argv)
{
	int mail[2];
	char c;
	volatile uint64_t sum = 0, answers = 0;
	compute_ns = (uint64_t)target_arg(argc, argv, 1, 100) * 1000;
	if (pipe(mail) != 0)
		return 2;
	pid_t other = fork();
	if (other == 0)
		wake(mail[1], mail[0]);
	target_start();
	while (target_running() && read(mail[0], &c, 1) == 1) {
		sum += answer();
		answers++;
	}
	kill(other, SIGKILL);
	target_count("answers", answers > 0);
	return target_finish(0);
}
