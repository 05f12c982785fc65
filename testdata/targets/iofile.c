/* save writes small blocks and calls fsync after each: the program waits for the disk.
 * iofile [path] [bytes a block]; without a path a file in the current directory, removed at the end. */
#include "target.h"
#include <fcntl.h>

enum { FILE_LIMIT = 4 << 20 };

NOINLINE void save(int fd, off_t at, const char *block, size_t size)
{
	if (pwrite(fd, block, size, at) != (ssize_t)size)
		target_bad("pwrite: %s", strerror(errno));
	if (fsync(fd) != 0)
		target_bad("fsync: %s", strerror(errno));
}

NOINLINE void prepare(char *block, size_t size, uint64_t n)
{
	for (size_t i = 0; i < size; i++)
		block[i] = (char)target_mix(n, i);
}

NOINLINE void verify(int fd, off_t at, const char *block, size_t size)
{
	char back[65536];
	if (pread(fd, back, size, at) != (ssize_t)size || memcmp(back, block, size) != 0)
		target_bad("what was read is not what was saved");
}

int main(int argc, char **argv)
{
	static char block[65536];
	target_start();
	const char *path = argc > 1 ? argv[1] : "iofile.data";
	size_t size = (size_t)target_arg(argc, argv, 2, 512);
	if (size < 1 || size > sizeof block)
		target_bad("block: 1 to %zu bytes", sizeof block);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		target_bad("%s: %s", path, strerror(errno));
	uint64_t saves = 0;
	off_t at = 0;
	while (target_running()) {
		prepare(block, size, saves);
		save(fd, at, block, size);
		verify(fd, at, block, size);
		saves++;
		at = (at + (off_t)size) % FILE_LIMIT;
	}
	close(fd);
	unlink(path);
	target_count("save", saves);
	return target_finish(target_mix(3, 3));
}
