package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
)

// interruptible gives a context that ends at the first SIGINT, SIGTERM or SIGHUP; then the session ends as usual, with all
// probes removed. At the second one the program ends at once; what it left in the targets is harmless, and the message says
// how to remove it. A closed pipe on the output is an error of the write, not the end of the program: probes come first.
func interruptible(ctx context.Context, pids []int) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	sigs := make(chan os.Signal, 4)
	done := make(chan struct{})
	signal.Notify(sigs, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case s := <-sigs:
				if n > 0 {
					forced(s, pids)
				}
				cancel()
			}
		}
	}()
	return ctx, func() {
		signal.Stop(sigs)
		close(done)
		cancel()
	}
}

// forced ends the program without waiting for the probes to be removed.
func forced(s os.Signal, pids []int) {
	list := make([]string, len(pids))
	for i, p := range pids {
		list[i] = "culprit restore " + strconv.Itoa(p)
	}
	fmt.Fprintf(os.Stderr, "culprit: forced to end by a second signal (%v); probes may be left: %s\n", s, strings.Join(list, "; "))
	os.Exit(exitFailed)
}
