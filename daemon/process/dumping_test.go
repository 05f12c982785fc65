package process

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// dumpingSource has so much memory that its core dump takes a while. The dump goes to the directory that it is told, unless the machine has
// somebody take it.
const dumpingSource = `
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
int main(int argc, char **argv) { struct rlimit all = {RLIM_INFINITY, RLIM_INFINITY}; size_t size = 512 << 20; char *p = malloc(size);
  if (argc < 2 || chdir(argv[1]) || setrlimit(RLIMIT_CORE, &all) || !p) return 1;
  for (size_t i = 0; i < size; i += 64) p[i] = (char)(i >> 6) | 1;
  puts("ready"); fflush(stdout); for (;;) pause(); }
`

// TestCoreDump: a process that writes its core dump is refused at once, for measuring and for looking at, and it says why.
func TestCoreDump(t *testing.T) {
	tg := start(t, compile(t, dumpingSource), t.TempDir())
	p := open(t, tg.pid())
	p.Close()
	if err := unix.Kill(tg.pid(), unix.SIGABRT); err != nil {
		t.Fatal(err)
	}
	var err error
	for deadline := time.Now().Add(10 * time.Second); err == nil && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		_, err = Open(tg.pid())
	}
	_, looked := Look(tg.pid())
	for _, err := range []error{err, looked} {
		if err == nil || !strings.Contains(err.Error(), "writes its core dump") {
			t.Errorf("%v", err)
		}
	}
}
