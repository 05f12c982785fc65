/* A program of root that forks children which give up root, as servers do. On "code" a child writes to every mapping that looks like
 * code or notes of whoever measures the program, on "counters" to all that it may write to anyway; what it reaches by any path it opens.
 * The program looks whether it sees anything of that. */
#include "target.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

static const uint64_t mark = 0x6b726f7720796d21;

struct piece {
	uint64_t lo, hi;
	int writable;
};

static int pieces(struct piece *p, int most)
{
	char line[512];
	int n = 0;
	FILE *f = fopen("/proc/self/maps", "r");
	while (f && n < most && fgets(line, sizeof line, f)) {
		char perms[8];
		unsigned long lo, hi;
		if (strstr(line, "/memfd:culprit") && sscanf(line, "%lx-%lx %7s", &lo, &hi, perms) == 3) {
			p[n].lo = lo, p[n].hi = hi;
			p[n++].writable = perms[1] == 'w';
		}
	}
	if (f)
		fclose(f);
	return n;
}

NOINLINE uint64_t work(uint64_t h)
{
	for (int i = 0; i < 20000; i++)
		h = target_mix(h, i);
	return h;
}

/* reopened maps a piece anew through the parent's and its own files. */
static volatile uint64_t *reopened(pid_t who, struct piece *p)
{
	char path[128];
	snprintf(path, sizeof path, "/proc/%d/map_files/%lx-%lx", (int)who, (long)p->lo, (long)p->hi);
	int fd = open(path, O_RDWR);
	if (fd < 0)
		return NULL;
	void *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return m == MAP_FAILED ? NULL : (volatile uint64_t *)m;
}

static void attack(int code)
{
	struct piece p[64];
	int n = pieces(p, 64);
	if (setgid(65534) || setuid(65534))
		_exit(2);
	for (int i = 0; i < n; i++) {
		volatile uint64_t *last = (volatile uint64_t *)p[i].hi - 1, *m;
		if (code && !p[i].writable && mprotect((void *)p[i].lo, p[i].hi - p[i].lo, PROT_READ | PROT_WRITE) == 0)
			*last = mark;
		for (int k = 0; k < 2; k++)
			if ((m = reopened(k ? getppid() : getpid(), &p[i])))
				*m = mark;
	}
	for (int i = 0; !code && i < n; i++)
		for (volatile uint64_t *w = (volatile uint64_t *)p[i].lo; p[i].writable && w < (volatile uint64_t *)p[i].hi; w++)
			if ((uint64_t)w % 4096 == 16) /* the third word of every page: where blocks keep what leads elsewhere */
				*w ^= 0x5a5a5a5a5a5a5a5a;
	for (int i = 0; i < 1000; i++)
		if (work(1) != work(1))
			_exit(3);
	_exit(0);
}

static void on_command(const char *line)
{
	struct piece p[64];
	int status, n;
	pid_t child = fork();
	if (child == 0)
		attack(strcmp(line, "code") == 0);
	while (waitpid(child, &status, WNOHANG) == 0)
		work(1);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		target_bad("the child ended with status %#x", status);
	n = pieces(p, 64);
	for (int i = 0; i < n; i++)
		if (!p[i].writable && ((volatile uint64_t *)p[i].hi)[-1] == mark)
			target_bad("the child has written to what its parent runs or is restored from");
	printf("DONE\n");
}

int main(void)
{
	uint64_t h = 0;
	target_command = on_command;
	target_start();
	while (target_running())
		for (int i = 0; i < 50; i++)
			h = work(1);
	return target_finish(h);
}
