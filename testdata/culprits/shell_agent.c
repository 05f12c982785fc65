// Cause: the agent starts a shell and small programs for each value it reads; the CPU goes to programs that begin and end at once.
// Right: ShortLivedProcesses at *
// Never: add_sample()
// Processes: tree

// A monitoring agent that gets each of its values from a shell command.
#include <stdio.h>
#include <stdlib.h>

static const char *commands[] = {
	"cut -d' ' -f1 /proc/loadavg",
	"wc -l < /proc/mounts",
	"head -1 /proc/uptime | cut -d. -f1",
	"grep -c processor /proc/cpuinfo",
};

static double average[4];

__attribute__((noinline)) static double read_value(const char *command)
{
	char line[128] = "";
	FILE *p = popen(command, "r");
	if (!p)
		exit(1);
	if (!fgets(line, sizeof line, p))
		line[0] = 0;
	pclose(p);
	return atof(line);
}

__attribute__((noinline)) static void add_sample(int which, double value)
{
	average[which] = average[which] * 0.9 + value * 0.1;
}

int main(void)
{
	puts("ready");
	fflush(stdout);
	for (unsigned i = 0;; i++)
		add_sample((int)(i % 4), read_value(commands[i % 4]));
}
