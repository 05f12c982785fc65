/* Very many very small reads and writes of a cached file: the cost is in the number of calls, not in the disk.
 * smallio [path] [bytes a call] [rounds of computing between two records]; without a path a file in the current directory, removed at the end. */
#include "target.h"
#include <fcntl.h>

NOINLINE void write_small(int fd, off_t at, const char *from, size_t size)
{
	if (pwrite(fd, from, size, at) != (ssize_t)size)
		target_bad("pwrite: %s", strerror(errno));
}

NOINLINE void read_small(int fd, off_t at, char *to, size_t size)
{
	if (pread(fd, to, size, at) != (ssize_t)size)
		target_bad("pread: %s", strerror(errno));
}

NOINLINE uint64_t digest(uint64_t h, long rounds)
{
	for (long i = 0; i < rounds; i++)
		h = target_mix(h, (uint64_t)i);
	return h;
}

NOINLINE void copy_record(int fd, uint64_t n, size_t size)
{
	char out[256], in[256];
	off_t at = (off_t)(n % 4096) * (off_t)size;
	memset(out, (int)(n & 0xff), size);
	write_small(fd, at, out, size);
	read_small(fd, at, in, size);
	if (memcmp(out, in, size) != 0)
		target_bad("record %llu differs", (unsigned long long)n);
}

int main(int argc, char **argv)
{
	target_start();
	const char *path = argc > 1 ? argv[1] : "smallio.data";
	size_t size = (size_t)target_arg(argc, argv, 2, 16);
	if (size < 1 || size > 256)
		target_bad("size: 1 to 256 bytes");
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		target_bad("%s: %s", path, strerror(errno));
	long rounds = target_arg(argc, argv, 3, 0);
	volatile uint64_t sum = 0;
	uint64_t n = 0;
	while (target_running())
		for (int i = 0; i < 256; i++) {
			copy_record(fd, n++, size);
			if (rounds > 0)
				sum += digest(n, rounds);
		}
	close(fd);
	unlink(path);
	target_count("copy_record", n);
	return target_finish(target_mix(4, 4));
}
