// Command culprit finds out why, where and when a running program is slow.
//
// This package is the command line: it reads arguments, joins terminal, signals and session, and turns results into text
// and exit statuses. What is measured and searched lives in the rooms below; nothing imports this package.
package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// softMemory is from how many bytes on garbage is collected as soon as there is some: an attach to a large program else waits until there is
// four times as much as is alive. GOMEMLIMIT goes before it.
const softMemory = 1536 << 20

// garbagePercent is how much is made, in percent of what is alive, before garbage is collected (GOGC goes before it). Little is alive while
// culprit attaches, and most that it makes then stays: Go's own 100 collects eleven times in the half second that nine processes take, and
// takes CPUs from them each time.
const garbagePercent = 400

// leastFiles is how many files must be open at once for any command: with fewer, Go's runtime ends us with a dump in the middle of it.
const leastFiles = 16

// enoughFiles is an error where this program may not have them.
func enoughFiles() error {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &lim) != nil || lim.Cur >= leastFiles {
		return nil
	}
	return fmt.Errorf("this program may have %d files open at once (ulimit -n), and needs %d at least; try: ulimit -n 1024", lim.Cur, leastFiles)
}

// leastAddresses is how much address space this program must be allowed, in bytes. Go's runtime takes most of it ahead, for each thread some more, and ends the
// program with a dump, in the middle of a measurement, where it gets none; little of it becomes memory.
const leastAddresses = 2_000_000_000

// enoughAddresses is an error where this program may not have them.
func enoughAddresses() error {
	var lim unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &lim) != nil || lim.Cur >= leastAddresses {
		return nil
	}
	return fmt.Errorf("this program may have %d MB of address space (ulimit -v), and needs %d at least; try: ulimit -v unlimited", lim.Cur/1_000_000, leastAddresses/1_000_000)
}

// enough is an error where this program may not have what it needs for any command that measures.
func enough() error {
	if err := enoughFiles(); err != nil {
		return err
	}
	return enoughAddresses()
}

func main() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softMemory)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
	guard = guardBySelf
	if err := enough(); err != nil {
		os.Stderr.WriteString("culprit: " + err.Error() + "\n")
		os.Exit(exitFailed)
	}
	os.Exit(execute(os.Args[1:]))
}
