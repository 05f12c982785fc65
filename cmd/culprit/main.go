// Command culprit finds out why, where and when a running program is slow.
//
// This package is the command line: it reads arguments, joins terminal, signals and session, and turns results into text
// and exit statuses. What is measured and searched lives in the rooms below; nothing imports this package.
package main

import (
	"os"
	"runtime/debug"
)

// softMemory is from how many bytes on garbage is collected as soon as there is some: an attach to a large program else waits until there is
// four times as much as is alive. GOMEMLIMIT goes before it.
const softMemory = 1536 << 20

func main() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softMemory)
	}
	guard = guardBySelf
	os.Exit(execute(os.Args[1:]))
}
