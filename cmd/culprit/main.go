// Command culprit finds out why, where and when a running program is slow.
//
// This package is the command line: it reads arguments, joins terminal, signals and session, and turns results into text
// and exit statuses. What is measured and searched lives in the rooms below; nothing imports this package.
package main

import "os"

func main() {
	guard = guardBySelf
	os.Exit(execute(os.Args[1:]))
}
