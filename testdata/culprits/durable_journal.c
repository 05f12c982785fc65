// Cause: each record is forced to the disk with its own fsync(), the program waits for the disk.
// Right: ExcessiveIOBlockingTime at commit_record()
// Never: encode_record()
// Args: FILE

// A bank's journal: each transfer is one record, and is on the disk before
// the next one is accepted. The file is used as a ring of 1 MB.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RECORD 512
#define RECORDS 2048

struct journal {
	int fd;
	unsigned long next;
};

__attribute__((noinline)) static void encode_record(char *record, unsigned long id)
{
	uint32_t sum = 0;
	memset(record, 0, RECORD);
	snprintf(record, RECORD - 4, "transfer %lu from %lu to %lu", id, id % 997, id % 991);
	for (int i = 0; i < RECORD - 4; i++)
		sum = sum * 31 + (unsigned char)record[i];
	memcpy(record + RECORD - 4, &sum, 4);
}

__attribute__((noinline)) static int commit_record(struct journal *j, const char *record)
{
	off_t at = (off_t)(j->next++ % RECORDS) * RECORD;
	if (pwrite(j->fd, record, RECORD, at) != RECORD)
		return -1;
	return fsync(j->fd);
}

int main(int argc, char **argv)
{
	struct journal j = {0};
	char record[RECORD];
	if (argc < 2) {
		fprintf(stderr, "usage: durable_journal FILE\n");
		return 2;
	}
	j.fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (j.fd < 0) {
		perror(argv[1]);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (unsigned long id = 0;; id++) {
		encode_record(record, id);
		if (commit_record(&j, record) != 0) {
			perror("commit");
			return 1;
		}
	}
}
