// Command culprits measures how often culprit is right: it lets culprit search in programs whose causes are known, and judges what it
// finds first.
//
// The programs are single files in testdata/culprits, and servers of the machine (servers.go). Each says in a comment at its beginning what
// is right, before it was ever measured:
//
//	// Cause: one sentence, what an expert would say after an hour.
//	// Right: HYPOTHESIS at PLACE [and PLACE ...]   several lines are alternatives; HYPOTHESIS may be A|B
//	// Right: none                                  the program is healthy, and nothing may be found
//	// Never: PLACE                                 a finding whose own place is this is a false blame
//	// Args: 4 FILE DIR                             FILE is a fresh file on a disk, DIR a fresh directory
//	// Flags: -lm                                   for the compiler, beside -O2 -g -pthread
//	// Processes: tree                              the children are part of the program
//
// A PLACE is f(), lock NAME (or a condition variable), file NAME, module NAME, thread NAME, process NAME, pipe, socket or *. A finding has a
// place that is among its coordinates, on the way that led to it, or in its sentence; the way does not count where a Never line names the
// finding's own place. A program prints "ready" when its steady behaviour has begun, runs until it is killed, and its children end with it.
//
// It knows culprit by its command line and its report, and imports nothing of the project but session/report and internal/... .
// Everything runs on the goroutine of main, one program after the other.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"syscall"
	"time"
)

// errTooFew is returned where fewer first findings are right than -least wants.
var errTooFew = errors.New("too few first findings are right")

func main() {
	runtime.LockOSThread() // a program ends with the thread that has started it
	var o options
	only := flag.String("run", "", "only programs whose names match this `regexp`")
	flag.IntVar(&o.rounds, "rounds", 1, "how often each is measured")
	flag.DurationVar(&o.span, "for", 15*time.Second, "how long culprit searches")
	flag.StringVar(&o.json, "json", "", "write the results also to this `file`")
	flag.StringVar(&o.culprit, "culprit", "", "`path` of the culprit that is judged; it is built if this is empty")
	flag.Float64Var(&o.least, "least", 0, "fail if fewer per cent of the first findings are right")
	flag.BoolVar(&o.servers, "servers", false, "servers instead of testdata/culprits")
	list := flag.Bool("list", false, "print the names and causes only")
	flag.Parse()
	if err := start(&o, *only, *list); err != nil {
		fmt.Fprintln(os.Stderr, "culprits:", err)
		os.Exit(1)
	}
}

func start(o *options, only string, list bool) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	if o.rounds < 1 {
		return errors.New("-rounds: expected 1 or more")
	}
	if o.root, err = topDirectory(); err != nil {
		return err
	}
	subjects, err := choose(o, pattern)
	if err != nil {
		return err
	}
	if list {
		for _, s := range subjects {
			fmt.Printf("%s: %s\n", s.name, s.expect.cause)
		}
		return nil
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	return judgeAll(ctx, o, subjects, os.Stdout)
}

// choose are the subjects whose names match.
func choose(o *options, pattern *regexp.Regexp) ([]subject, error) {
	all, err := programs(o.root)
	if err != nil {
		return nil, err
	}
	if o.servers {
		all = serverSubjects()
	}
	var chosen []subject
	for _, s := range all {
		if pattern.MatchString(s.name) {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no program matches %q", pattern)
	}
	return chosen, nil
}
