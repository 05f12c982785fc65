// Package attack lets a user without rights attack whoever measures his programs: root's attach, detach, restore, doctor, run and
// assert. It holds tests only.
//
// A round starts testdata/odd/attacker.c as such a user, with some kinds of attack that the seed draws, and has root do something to
// it. Whatever the attacker does to himself is his own affair. After each round nothing outside of him may have been touched, and
// root's command must have come to an end within its time and memory, with its output fit for a terminal.
//
// A round that failed comes again with -args -seed S -only N. Culprit is known by its command line only, so that an earlier one can be
// attacked, too (-culprit PATH).
package attack

//test:alone

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

var (
	roundsFlag  = flag.Int("rounds", 100, "how many rounds")
	seedFlag    = flag.Uint64("seed", 0, "seed of all that is drawn; 0 draws one from the clock")
	onlyFlag    = flag.Int("only", -1, "run this round only, as often as -rounds says")
	matchFlag   = flag.String("match", "", "run only rounds whose description matches this pattern")
	workersFlag = flag.Int("workers", 3, "rounds at the same time")
	culpritFlag = flag.String("culprit", "", "path of the culprit that is attacked; \"\" builds this one")
	longFlag    = flag.Bool("long", false, "as many rounds as make attack runs")
)

var (
	culprit string   // path of the binary
	places  []string // of culprit's fault points
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if *seedFlag == 0 {
		*seedFlag = uint64(time.Now().UnixNano())
	}
	dir, err := os.MkdirTemp("", "culprit-attack")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	culprit = filepath.Join(dir, "culprit")
	build := exec.Command("go", "build", "-o", culprit, "./cmd/culprit")
	if *culpritFlag != "" {
		build = exec.Command("cp", *culpritFlag, culprit)
	}
	if *culpritFlag == "" {
		build.Dir = "../.."
	}
	if text, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %v\n%s", build.Args, err, text)
		return 1
	}
	places = faultPlaces()
	return m.Run()
}

// faultPlaces asks culprit for its fault points: it lists them where it is asked for one that does not exist.
func faultPlaces() []string {
	cmd := exec.Command(culprit, "restore", fmt.Sprint(os.Getpid()))
	cmd.Env = append(os.Environ(), "CULPRIT_FAULT=no-such-place")
	text, _ := cmd.CombinedOutput() // it fails, and says why
	return regexp.MustCompile(`[a-z-]+\.[a-z-]+`).FindAllString(string(regexp.MustCompile(`(?s)there are.*`).Find(text)), -1)
}
