package process

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
)

// syncsSource has two threads wait for the disk all the time: each changes its part of a file and calls fsync. "failed" counts the calls that did not give 0.
const syncsSource = `
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static int fd;
static volatile long synced, failed, done;
static void *syncs(void *arg)
{
	while (!done) {
		long n = synced;
		if (pwrite(fd, &n, sizeof n, (long)arg) != sizeof n || fsync(fd))
			__sync_fetch_and_add(&failed, 1);
		__sync_fetch_and_add(&synced, 1);
	}
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t a, b;
	fd = open(argv[argc - 1], O_RDWR | O_CREAT, 0600);
	pthread_create(&a, NULL, syncs, (void *)0L), pthread_create(&b, NULL, syncs, (void *)4096L);
	puts("ready"), fflush(stdout);
	getchar();
	done = 1;
	pthread_join(a, NULL), pthread_join(b, NULL);
	printf("synced %ld\nfailed %ld\n", synced, failed);
	return 0;
}
`

// TestThreadsThatSyncAreLeft: a thread that waits for the disk in fsync does not stop before that has answered, and need not. The others are not held for so long.
func TestThreadsThatSyncAreLeft(t *testing.T) {
	know := knowingTransfers(t)
	dir := t.TempDir()
	var fs unix.Statfs_t
	must(t, unix.Statfs(dir, &fs))
	if fs.Type == unix.TMPFS_MAGIC || fs.Type == unix.RAMFS_MAGIC {
		t.Skip("there is no disk to wait for: temporary files are kept in memory")
	}
	p, prog := openSyncing(t, dir)
	p.KnowTransfers(know)
	left := 0
	const rounds = 100
	for range rounds {
		stop(t, p, func(w *World) error {
			for _, th := range w.Threads() {
				if tr := w.s.threads[th.TID]; tr != nil && tr.Phase == raw.Asleep && th.Regs.Orig_rax == unix.SYS_FSYNC {
					left++
				}
			}
			_, err := w.Syscall(unix.SYS_GETPID) // another thread makes it
			return err
		})
	}
	res := prog.finish()
	t.Logf("%v, %d of %d left within their calls", res, left, 2*rounds)
	if left < rounds/10 || res["failed"] != 0 || res["synced"] == 0 {
		t.Errorf("%d threads were left within fsync in %d stops, %v", left, rounds, res)
	}
}

func openSyncing(t *testing.T, dir string) (*Process, *target) {
	t.Helper()
	prog := start(t, compile(t, syncsSource), filepath.Join(dir, "file"))
	return open(t, prog.pid()), prog
}
