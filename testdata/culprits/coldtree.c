// Cause: an indexer opens and reads hundreds of small files of a tree that is not in memory, and waits for the disk for each,
// in load_document().
// Right: ExcessiveIOBlockingTime|TooManySmallIOOps at load_document()
// Args: DIR
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DIRECTORIES = 20, FILES = 30, BYTES = 64 << 10, CHUNK = 8 << 10 };

static char tree[3000];
static volatile uint64_t words;

static void document_path(char *path, size_t size, int d, int f)
{
	snprintf(path, size, "%s/section%02d/page%02d.txt", tree, d, f);
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void plant_tree(void)
{
	char path[4096];
	static char text[BYTES];
	for (int i = 0; i < BYTES; i++)
		text[i] = i % 6 == 5 ? ' ' : (char)('a' + i % 26);
	for (int d = 0; d < DIRECTORIES; d++) {
		snprintf(path, sizeof path, "%s/section%02d", tree, d);
		if (mkdir(path, 0755))
			fail(path);
		for (int f = 0; f < FILES; f++) {
			document_path(path, sizeof path, d, f);
			int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
			if (fd < 0 || write(fd, text, BYTES) != BYTES)
				fail(path);
			close(fd);
		}
	}
	int fd = open(tree, O_RDONLY | O_DIRECTORY);
	syncfs(fd);
	close(fd);
	for (int d = 0; d < DIRECTORIES; d++)
		for (int f = 0; f < FILES; f++) {
			document_path(path, sizeof path, d, f);
			fd = open(path, O_RDONLY);
			posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
			close(fd);
		}
}

/* It reads a chunk at a time, without reading ahead, and as backup programs do it leaves nothing in the page cache. */
__attribute__((noinline)) size_t load_document(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY);
	if (fd < 0)
		fail(path);
	size_t have = 0;
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	while (have + CHUNK <= size && read(fd, text + have, CHUNK) == CHUNK)
		have += CHUNK;
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
	return have;
}

/* The summary at the beginning is what is indexed. */
__attribute__((noinline)) uint64_t count_words(const char *text, size_t size)
{
	uint64_t n = 0;
	for (size_t i = 0; i < size && i < 2048; i++)
		n += text[i] == ' ';
	return n;
}

__attribute__((noinline)) void index_section(int d)
{
	char path[4096];
	static char text[BYTES];
	for (int f = 0; f < FILES; f++) {
		document_path(path, sizeof path, d, f);
		words += count_words(text, load_document(path, text, sizeof text));
	}
}

int main(int argc, char **argv)
{
	snprintf(tree, sizeof tree, "%s", argc > 1 ? argv[1] : ".");
	plant_tree();
	puts("ready");
	fflush(stdout);
	for (int d = 0;; d = (d + 1) % DIRECTORIES)
		index_section(d);
}
