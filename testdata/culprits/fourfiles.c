// Cause: sync_partition() waits for the disk after every record; the time is spread evenly over four files, so none of them is
// to blame, but all together are.
// Right: ExcessiveIOBlockingTime at sync_partition()
// Never: file part-0
// Never: file part-1
// Never: file part-2
// Never: file part-3
// Args: DIR
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARTITIONS = 4, RECORD = 512, PARTITION_BYTES = 4 << 20 };

static int partition[PARTITIONS];
static off_t at[PARTITIONS];

__attribute__((noinline)) int choose_partition(const char *record)
{
	return (record[0] - 'a') % PARTITIONS;
}

__attribute__((noinline)) void sync_partition(int p, const char *record)
{
	if (at[p] >= PARTITION_BYTES)
		at[p] = 0;
	if (pwrite(partition[p], record, RECORD, at[p]) != RECORD || fdatasync(partition[p]) != 0) {
		perror("partition");
		exit(1);
	}
	at[p] += RECORD;
}

__attribute__((noinline)) void build_record(char *record, uint64_t n)
{
	uint64_t h = n;
	for (int i = 1; i < RECORD; i++) {
		h = (h ^ (h >> 9)) * 1099511628211u + n;
		record[i] = (char)('a' + h % 26);
	}
	record[0] = (char)('a' + n % PARTITIONS);
}

__attribute__((noinline)) void ingest(uint64_t n)
{
	char record[RECORD];
	build_record(record, n);
	sync_partition(choose_partition(record), record);
}

int main(int argc, char **argv)
{
	for (int i = 0; i < PARTITIONS; i++) {
		char path[4096];
		snprintf(path, sizeof path, "%s/part-%d", argc > 1 ? argv[1] : ".", i);
		partition[i] = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
		if (partition[i] < 0) {
			perror(path);
			return 1;
		}
	}
	puts("ready");
	fflush(stdout);
	for (uint64_t n = 0;; n++)
		ingest(n);
}
