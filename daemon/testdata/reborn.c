/* Runs a program under a given pid, which must be free.
 * reborn PID PROGRAM [arguments]. It ends with status 9 if it may not choose a pid, and otherwise as the program does. */
#include "target.h"
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	pid_t want = (pid_t)atoi(argv[1]), parent = getpid();
	struct clone_args how;
	memset(&how, 0, sizeof how);
	how.exit_signal = SIGCHLD;
	how.set_tid = (uint64_t)(uintptr_t)&want;
	how.set_tid_size = 1;
	long pid = syscall(SYS_clone3, &how, sizeof how);
	if (pid < 0) {
		fprintf(stderr, "clone3: %s\n", strerror(errno));
		return errno == EPERM ? 9 : 3;
	}
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(4);
		execv(argv[2], argv + 2);
		_exit(5);
	}
	int status;
	while (waitpid((pid_t)pid, &status, 0) < 0)
		if (errno != EINTR)
			return 6;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
