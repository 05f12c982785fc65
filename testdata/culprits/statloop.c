// Cause: for each record the program asks the kernel whether its configuration file has changed; most of the CPU time are the
// stat system calls of config_changed().
// Right: SystemCallTimeHigh at config_changed()
// Args: DIR
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char config_path[4096];
static struct timespec config_time;
static volatile uint64_t totals[64];

__attribute__((noinline)) int config_changed(void)
{
	struct stat st;
	if (stat(config_path, &st) != 0)
		return 0;
	int changed = st.st_mtim.tv_sec != config_time.tv_sec || st.st_mtim.tv_nsec != config_time.tv_nsec;
	config_time = st.st_mtim;
	return changed;
}

__attribute__((noinline)) void load_config(void)
{
	char line[256];
	FILE *f = fopen(config_path, "r");
	if (!f)
		return;
	while (fgets(line, sizeof line, f))
		totals[0] += strlen(line);
	fclose(f);
}

__attribute__((noinline)) void account_record(uint64_t n)
{
	uint64_t h = n;
	for (int i = 0; i < 40; i++)
		h = (h ^ (h >> 7)) * 1099511628211u;
	totals[h % 64] += h & 0xff;
}

__attribute__((noinline)) void process_record(uint64_t n)
{
	if (config_changed())
		load_config();
	account_record(n);
}

int main(int argc, char **argv)
{
	snprintf(config_path, sizeof config_path, "%s/app.conf", argc > 1 ? argv[1] : ".");
	FILE *f = fopen(config_path, "w");
	if (!f) {
		perror(config_path);
		return 1;
	}
	fputs("interval=10\n", f);
	fclose(f);
	puts("ready");
	fflush(stdout);
	for (uint64_t n = 0;; n++)
		process_record(n);
}
