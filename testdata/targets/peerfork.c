/* A process and its children, forked or executed anew, each of which works when it is told to. A forked child goes on in the
 * same program; one that executes is this program again.
 * Line "work N": N calls of member and of other; RAN <pid> <N>. "fork", "forkexec": a child, which reads its own lines;
 * CHILD <pid>, and READY <pid> from one that executes. "tell LINE": the line for the child born last. "exec": this process
 * becomes the program anew and says READY again. "exitpid": it ends with its pid's last 8 bits as status.
 * COUNT <function> is the number of calls of the first process since it began. */
#include "target.h"
#include <fcntl.h>
#include <sys/wait.h>

enum { MAX_CHILDREN = 8 };
static struct {
	pid_t pid;
	int lines; /* where it reads from */
} children[MAX_CHILDREN];
static int born, is_child;
static uint64_t members, others, children_ever, hash;
static char told[200];
static long amount;
static volatile int wanted; /* a letter, as in command */

NOINLINE uint64_t member(uint64_t x)
{
	members++;
	return target_mix(x, 31);
}

NOINLINE uint64_t other(uint64_t x)
{
	others++;
	return target_mix(x, 32);
}

static void work(long n)
{
	uint64_t h = 1;
	for (long i = 0; i < n; i++)
		h = other(member(h));
	hash = target_mix(hash, h);
	printf("RAN %d %ld\n", (int)getpid(), n);
}

static void anew(void)
{
	char name[] = "peerfork", child[] = "child";
	char *argv[] = {name, is_child ? child : NULL, NULL};
	execv("/proc/self/exe", argv);
	target_bad("exec: %s", strerror(errno));
}

/* bear makes a child whose standard input is a pipe from here. */
static void bear(int executes)
{
	int p[2];
	if (born == MAX_CHILDREN || pipe2(p, O_CLOEXEC) != 0)
		target_bad("no more children");
	pid_t pid = fork();
	if (pid < 0)
		target_bad("fork: %s", strerror(errno));
	if (pid == 0) {
		for (int i = 0; i < born; i++)
			close(children[i].lines);
		dup2(p[0], 0);
		close(p[0]);
		close(p[1]);
		is_child = 1, born = 0, members = others = 0;
		if (executes)
			anew();
		return;
	}
	close(p[0]);
	children[born].pid = pid;
	children[born++].lines = p[1];
	children_ever++;
	printf("CHILD %d\n", (int)pid);
}

static void tell(int child, const char *line)
{
	char text[sizeof told + 1];
	int n = snprintf(text, sizeof text, "%s\n", line);
	if (child < 0 || write(children[child].lines, text, (size_t)n) != n)
		target_bad("no child listens");
}

static void bury(void)
{
	for (int i = 0; i < born; i++) {
		int status;
		close(children[i].lines);
		while (waitpid(children[i].pid, &status, 0) < 0)
			if (errno != EINTR)
				target_bad("waitpid: %s", strerror(errno));
		if (!WIFEXITED(status) || WEXITSTATUS(status) != TARGET_OK)
			target_bad("child %d ended with %x", (int)children[i].pid, status);
	}
	born = 0;
}

static void command(const char *line)
{
	if (sscanf(line, "work %ld", &amount) == 1)
		wanted = 'w';
	else if (strcmp(line, "fork") == 0)
		wanted = 'f';
	else if (strcmp(line, "forkexec") == 0)
		wanted = 'F';
	else if (sscanf(line, "tell %199[^\n]", told) == 1)
		wanted = 't';
	else if (strcmp(line, "exec") == 0)
		wanted = 'x';
	else if (strcmp(line, "exitpid") == 0)
		wanted = 'q';
}

static void obey(void)
{
	int what = wanted;
	wanted = 0;
	switch (what) {
	case 'w':
		work(amount);
		break;
	case 'f':
	case 'F':
		bear(what == 'F');
		break;
	case 't':
		tell(born - 1, told);
		break;
	case 'x':
		anew();
		break;
	case 'q':
		bury();
		exit(getpid() & 0xff);
	}
}

static void everything(void)
{
	int own = getpid();
	work(1000);
	for (int i = 0; i < 2 && getpid() == own; i++)
		bear(i);
	if (getpid() == own)
		for (int i = 0; i < born; i++)
			tell(i, "work 100");
}

int main(int argc, char **argv)
{
	int warm = 0;
	is_child = argc > 1 && strcmp(argv[1], "child") == 0;
	target_start();
	target_command = command;
	while (!target_stopping) {
		target_poll(10);
		if (target_going && !target_stopping && !warm && !is_child) {
			warm = 1;
			everything();
		}
		obey();
	}
	bury();
	if (is_child)
		return TARGET_OK;
	target_count("member", members);
	target_count("other", others);
	target_count("children", children_ever);
	return target_finish(hash);
}
