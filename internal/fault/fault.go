// Package fault makes something go wrong at a named place of the shipped program, for tests.
//
// A place is declared once, as a variable of its package (fault.New), and passed with Hit. The environment chooses which place
// acts, after how many passes, and what happens: CULPRIT_FAULT=name[:nth][:action]. Without it a place costs one load and a
// comparison. It imports nothing of the project. Everything may be called from any goroutine.
package fault

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Variable names the environment variable that chooses a fault.
const Variable = "CULPRIT_FAULT"

// Err is what Hit returns where the action is "error".
var Err = errors.New("fault asked for by " + Variable)

// A Point is a place where something can be made to go wrong.
type Point struct{ name string }

var (
	mu     sync.Mutex
	points = map[string]*Point{}
	armed  atomic.Pointer[plan]
)

// A plan is one fault to come.
type plan struct {
	point  string
	left   atomic.Int64 // passes until it acts
	action func(p *Point, target int) error
}

// New declares a place; names are unique in the program.
func New(name string) *Point {
	mu.Lock()
	defer mu.Unlock()
	if points[name] != nil {
		panic("BUG: two fault points are called " + name)
	}
	p := &Point{name}
	points[name] = p
	return p
}

// Names lists all places of the program, sorted.
func Names() (names []string) {
	mu.Lock()
	defer mu.Unlock()
	for n := range points {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Actions lists what can be asked for, sorted: error (Hit returns Err), kill-self and stop-self (a signal to this process),
// sleep (a second), panic, exit-thread (the goroutine ends), kill-target (a SIGKILL to the process given to Hit), exec-target (a
// SIGUSR2 to it, which a target made for that takes as the order to execute a program).
func Actions() (names []string) {
	for n := range actions {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

var actions = map[string]func(p *Point, target int) error{
	"error":       func(p *Point, _ int) error { return fmt.Errorf("%s: %w", p.name, Err) },
	"kill-self":   func(*Point, int) error { return signal(os.Getpid(), unix.SIGKILL) },
	"stop-self":   func(*Point, int) error { return signal(os.Getpid(), unix.SIGSTOP) },
	"sleep":       func(*Point, int) error { time.Sleep(time.Second); return nil },
	"panic":       func(p *Point, _ int) error { panic("fault asked for at " + p.name) },
	"exit-thread": func(*Point, int) error { runtime.Goexit(); return nil },
	"kill-target": func(_ *Point, target int) error { return signal(target, unix.SIGKILL) },
	"exec-target": func(_ *Point, target int) error { return signal(target, unix.SIGUSR2) },
}

func signal(pid int, sig unix.Signal) error {
	if pid <= 0 {
		return nil
	}
	err := unix.Kill(pid, sig)
	if pid == os.Getpid() && sig == unix.SIGKILL {
		select {} // it is on its way
	}
	return err
}

// Hit passes the place. target is the process that is worked on, 0 if there is none. The error is nil unless one was asked for.
func (p *Point) Hit(target int) error {
	f := armed.Load()
	if f == nil || f.point != p.name || f.left.Add(-1) != 0 {
		return nil
	}
	return f.action(p, target)
}

// Set chooses a fault, in the form of the environment variable; "" means none. An unknown place or action is an error that
// lists those that there are.
func Set(spec string) error {
	if spec == "" {
		armed.Store(nil)
		return nil
	}
	name, rest, _ := strings.Cut(spec, ":")
	f := &plan{point: name, action: actions["error"]}
	f.left.Store(1)
	for word := range strings.SplitSeq(rest, ":") {
		if n, err := strconv.Atoi(word); err == nil && n > 0 {
			f.left.Store(int64(n))
		} else if act := actions[word]; act != nil {
			f.action = act
		} else if word != "" {
			return fmt.Errorf("%s=%q: %q is neither a count nor one of %s", Variable, spec, word, strings.Join(Actions(), ", "))
		}
	}
	if names := Names(); !slices.Contains(names, name) {
		return fmt.Errorf("%s=%q: there is no place %q; there are\n  %s", Variable, spec, name, strings.Join(names, "\n  "))
	}
	armed.Store(f)
	return nil
}

// FromEnvironment chooses what the environment asks for; where it asks for nothing, what was chosen before stays.
func FromEnvironment() error {
	spec := os.Getenv(Variable)
	if spec == "" {
		return nil
	}
	return Set(spec)
}
