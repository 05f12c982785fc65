// Cause: flush_log() waits for the disk in fsync, after every entry. It ends in a tail call to fsync, so that no frame of it is
// on the stack meanwhile.
// Right: ExcessiveIOBlockingTime at flush_log()
// Args: DIR
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENTRY = 300, LOG_BYTES = 4 << 20 };

struct log {
	int fd;
	off_t end;
	uint64_t entries;
};

__attribute__((noinline)) int flush_log(struct log *l)
{
	l->entries++;
	return fsync(l->fd);
}

__attribute__((noinline)) int write_entry(struct log *l, const char *entry)
{
	if (l->end >= LOG_BYTES)
		l->end = 0;
	ssize_t n = pwrite(l->fd, entry, ENTRY, l->end);
	l->end += ENTRY;
	return n == ENTRY ? 0 : -1;
}

__attribute__((noinline)) void append_entry(struct log *l, uint64_t n)
{
	char entry[ENTRY];
	memset(entry, ' ', sizeof entry);
	snprintf(entry, sizeof entry, "%llu account %llu debited", (unsigned long long)n, (unsigned long long)(n * 37 % 1001));
	if (write_entry(l, entry) || flush_log(l)) {
		perror("log");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	char path[4096];
	struct log l = {0};
	snprintf(path, sizeof path, "%s/ledger.log", argc > 1 ? argv[1] : ".");
	l.fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (l.fd < 0) {
		perror(path);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (uint64_t n = 1;; n++)
		append_entry(&l, n);
}
