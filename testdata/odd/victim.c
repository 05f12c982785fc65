/* A process that has nothing to do with anything: it says SIGNAL for each signal that it gets. None should ever come. */
#include "target.h"

int main(void)
{
	sigset_t all;
	siginfo_t si;
	sigfillset(&all);
	sigdelset(&all, SIGTERM);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("READY %d\n", (int)getpid());
	for (;;)
		if (sigwaitinfo(&all, &si) > 0)
			printf("SIGNAL %d from %d\n", si.si_signo, (int)si.si_pid);
}
