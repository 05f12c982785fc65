// Cause: the watcher asks the kernel for the state of thousands of files again and again, all its CPU time is in the stat() calls.
// Right: SystemCallTimeHigh|SystemTimeHigh at file_changed()
// Never: note_change()
// Args: DIR

// A build tool's watcher that polls: it looks at each source file of a
// project, and begins again at once.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FILES 3000

struct watched {
	char path[256];
	struct timespec mtime;
	off_t size;
};

static struct watched *files;
static unsigned long changes;

__attribute__((noinline)) static int file_changed(struct watched *w)
{
	struct stat st;
	if (stat(w->path, &st) != 0)
		return 1;
	int changed = st.st_mtim.tv_sec != w->mtime.tv_sec || st.st_mtim.tv_nsec != w->mtime.tv_nsec || st.st_size != w->size;
	w->mtime = st.st_mtim;
	w->size = st.st_size;
	return changed;
}

__attribute__((noinline)) static void note_change(struct watched *w)
{
	(void)w;
	changes++;
}

static void scan_project(void)
{
	for (int i = 0; i < FILES; i++)
		if (file_changed(&files[i]))
			note_change(&files[i]);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: file_watcher DIR\n");
		return 2;
	}
	files = calloc(FILES, sizeof *files);
	if (!files)
		return 1;
	for (int i = 0; i < FILES; i++) {
		int n = snprintf(files[i].path, sizeof files[i].path, "%s/source%04d.c", argv[1], i);
		if (n < 0 || n >= (int)sizeof files[i].path)
			return 1;
		int fd = open(files[i].path, O_CREAT | O_WRONLY, 0644);
		if (fd < 0) {
			perror(files[i].path);
			return 1;
		}
		close(fd);
	}
	scan_project();
	puts("ready");
	fflush(stdout);
	for (;;)
		scan_project();
}
