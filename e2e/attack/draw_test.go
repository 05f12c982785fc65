package attack

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// kinds are what the attacker can do; testdata/odd/attacker.c has them.
var kinds = []string{"descriptors", "memory", "child", "fakes", "replay", "names", "files", "namespaces", "limits", "locked", "dumpable",
	"filter", "stops", "children", "dies", "executes"}

// commands are what root does meanwhile.
var commands = []string{"attach", "attach", "attach", "watch", "watch", "sample", "detach", "restore", "doctor", "run", "assert", "killed", "killed",
	"attach and detach"}

// A draw is one round: all of it follows from the seed and the round's number.
type draw struct {
	rng     *rand.Rand
	number  int
	kinds   []string
	command string
	fault   string // for culprit; "" is none
	program string // what the attacker's executable is like
	library string // what the library is like that it maps
	span    time.Duration

	servants bool // the target is root's, the attackers are its children
}

func drawRound(seed uint64, number int) *draw {
	d := &draw{rng: rand.New(rand.NewPCG(seed, uint64(number))), number: number}
	for range 1 + d.rng.IntN(3) {
		d.kinds = append(d.kinds, kinds[d.rng.IntN(len(kinds))])
	}
	d.command = commands[d.rng.IntN(len(commands))]
	if (d.command == "detach" || d.command == "restore") && d.rng.IntN(4) > 0 {
		d.kinds = append(d.kinds, "fakes") // else there is little to detach from
	}
	if d.rng.IntN(3) == 0 && len(places) > 0 {
		action := []string{"sleep", "sleep", "stop-self", "error", "kill-self"}[d.rng.IntN(5)]
		d.fault = fmt.Sprintf("%s:%d:%s", places[d.rng.IntN(len(places))], 1+d.rng.IntN(2), action)
	}
	if d.rng.IntN(8) == 0 {
		d.serve()
	}
	d.program = []string{"", "", "", "flipped", "names", "inflated"}[d.rng.IntN(6)]
	d.library = []string{"", "", "flipped", "names", "headers", "cut", "inflated"}[d.rng.IntN(7)]
	d.span = time.Duration(200+d.rng.IntN(500)) * time.Millisecond
	return d
}

// serve makes it a round in which the target has rights and its children do not. They attack it through what they share with it.
func (d *draw) serve() {
	d.kinds = []string{"servants"}
	d.command = []string{"attach", "watch", "watch", "killed", "attach and detach"}[d.rng.IntN(5)]
	d.servants = true
}

func (d *draw) String() string {
	text := fmt.Sprintf("round %d: %s against %s", d.number, strings.Join(d.kinds, ", "), d.command)
	for _, more := range [][2]string{{"fault ", d.fault}, {"program ", d.program}, {"library ", d.library}} {
		if more[1] != "" {
			text += "; " + more[0] + more[1]
		}
	}
	return text
}
