package daemon

//test:alone

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"culprit/daemon/image/lazy"
)

var long = flag.Bool("long", false, "run the long forms of the tests that need real processes")

// helperVariable names the environment variable that makes this test binary something else than a test: a culprit that is
// killed, for example.
const helperVariable = "DAEMON_TEST_HELPER"

// helpers are what it can be, by name.
var helpers = map[string]func(args []string) int{}

func TestMain(m *testing.M) {
	if name := os.Getenv(helperVariable); name != "" {
		f := helpers[name]
		if f == nil {
			fmt.Fprintln(os.Stderr, "no such helper:", name)
			os.Exit(2)
		}
		os.Exit(f(os.Args[1:]))
	}
	flag.Parse()
	lazy.OnMissing(built.note)
	code := m.Run()
	os.Exit(max(code, built.report()))
}

// built holds each test of this room to it that nothing is built, decoded or read from a file of code in a stop: all that one needs has to be
// there before. Where something was missing a target was stopped in vain.
var built builtInStop

type builtInStop struct {
	mu    sync.Mutex
	seen  []string
	spare int // tests that make it happen
}

func (b *builtInStop) note(what string, stack []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spare == 0 {
		b.seen = append(b.seen, fmt.Sprintf("a stop had to be made again for %s, asked for by\n%s", what, stack))
	}
}

// allow lets stops lack something until the test is over.
func (b *builtInStop) allow(t *testing.T) {
	add := func(n int) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.spare += n
	}
	add(1)
	t.Cleanup(func() { add(-1) })
}

// report tells what happened, and gives the status to end with.
func (b *builtInStop) report() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.seen {
		fmt.Fprintln(os.Stderr, s)
	}
	return min(len(b.seen), 1)
}

// self starts this test binary anew as one of its helpers.
func self(name string, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env = append(os.Environ(), helperVariable+"="+name)
	return cmd
}

// rounds is how often a test repeats: quick in the ordinary run, with -long as often as it takes to be sure.
func rounds(quick, sure int) int {
	if *long {
		return sure
	}
	return quick
}

// day counts the days, so that the ordinary runs of several days come to all of what each of them takes a part of.
var day = int(time.Now().Unix() / (24 * 60 * 60))

// few takes of what a test goes through the part that the ordinary run has today: one of each step, and one at least. With -long it is all.
func few[T any](all []T, step int) (part []T) {
	if *long || len(all) == 0 {
		return all
	}
	for i := day % min(step, len(all)); i < len(all); i += step {
		part = append(part, all[i])
	}
	return part
}

// fewPoints takes one of each step of the fault points of each kind, which is what stands before the dot of a name.
func fewPoints(names []string, step int) (part []string) {
	for len(names) > 0 {
		kind, _, _ := strings.Cut(names[0], ".")
		n := 1
		for n < len(names) && strings.HasPrefix(names[n], kind+".") {
			n++
		}
		part, names = append(part, few(names[:n], step)...), names[n:]
	}
	return part
}
