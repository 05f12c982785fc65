package peer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"culprit/grid"
	"culprit/internal/testprog"
)

// A loop of a function of peer.c, as its source says: how often it is entered, and how many turns it makes, in one call.
type loop struct {
	enters, turns float64
	first         bool // its condition stands at its head in the source
}

// ofFunction are the loops of the functions that have some, as they are written and as gcc -O2 makes them: two of those that have
// nothing between them share a head then, and are one.
var ofFunction = []struct {
	function          string
	written, compiled []loop
}{
	{"nest", nestLoops, nestLoops},
	{"tight", []loop{{1, 1, true}, {1, 1, true}, {1, 20, false}}, []loop{{1, 1, true}, {1, 20, false}}},
	{"branchy", branchyLoops, branchyLoops},
}

var (
	nestLoops    = []loop{{1, 100, true}, {100, 1000, true}, {1000, 7000, true}, {100, 500, false}}
	branchyLoops = []loop{{1, 60, true}, {60, 480, true}}
)

// doors is a metric that counts at the points of a kind of a loop.
func doors(name, field string) string {
	return fmt.Sprintf("metric %s { name %q; units ops; unitsType unnormalized; aggregateOperator sum; style EventCounter;\n"+
		"constraint %sOfLoop /Code/*/* is replace counter { append preInsn $constraint[0].%s (* %s++; *) }\nbase is void { } }\n", name, name, name, field, name)
}

// visits is what was counted at a loop.
type visits struct{ enter, exit, start, end float64 }

// loops: every way into a loop and every way out of it is instrumented, so are the begin and the end of each turn, of loops in
// loops, loops without room between them and loops of nothing but conditions, compiled well and not at all. All visits are
// exact: what comes in goes out, and a turn begins when somebody comes in or goes back.
func loops(t *testing.T) {
	for _, b := range []struct {
		name  string
		flags []string
		above bool // conditions stay at the heads of loops
	}{{"O2", nil, false}, {"O0", []string{"-O0"}, true}} {
		t.Run(b.name, func(t *testing.T) {
			s := attachBuilt(t, "peer.c", b.flags, doors("enters", "enter"), doors("exits", "exit"), doors("starts", "start_iter"), doors("ends", "end_iter"))
			for _, f := range ofFunction {
				want := f.compiled
				if b.above {
					want = f.written
				}
				s.visitLoops(f.function, want, b.above)
			}
			s.end()
		})
	}
}

func (s *subject) visitLoops(function string, want []loop, above bool) {
	s.t.Helper()
	names, err := s.d.ListLoops("peer.c", function)
	if err != nil || len(names) != len(want) {
		s.t.Errorf("%s: loops %q, %v; there should be %d", function, names, err, len(want))
		return
	}
	var pairs []string
	for _, name := range names {
		for _, m := range []string{"enters", "exits", "starts", "ends"} {
			pairs = append(pairs, m+"@/Code/peer.c/"+function+"/"+name)
		}
	}
	s.enable(pairs...)
	n := s.run(function, rounds(50, 5000))[function]
	s.disable()
	var got, should []visits
	for i, name := range names {
		v := visits{s.value(pairs[4*i]), s.value(pairs[4*i+1]), s.value(pairs[4*i+2]), s.value(pairs[4*i+3])}
		s.t.Logf("%s, %s: in %.0f, out %.0f, turns %.0f, back %.0f", function, name, v.enter, v.exit, v.start, v.end)
		got = append(got, v)
	}
	for _, l := range want {
		turns := l.turns
		if above && l.first {
			turns += l.enters // the last look at the condition
		}
		should = append(should, visits{n * l.enters, n * l.enters, n * turns, n * (turns - l.enters)})
	}
	inOrder := func(a, b visits) int { return int(b.start - a.start + (b.enter-a.enter)/2) }
	slices.SortFunc(got, inOrder)
	slices.SortFunc(should, inOrder)
	if !slices.Equal(got, should) {
		s.t.Errorf("%s: counted %v, should be %v", function, got, should)
	}
}

// arbitraryPoints: code in the middle of a function, where registers, flags and the bytes below the stack pointer are in use:
// all doors and turns of its loops, its entry and its exits at once, each with code that uses every register that a probe
// has, and the first instruction of every source line. There it is every instruction. The function's sums, of whole numbers and of
// fractions, must come out to the last bit.
func arbitraryPoints(t *testing.T) {
	heavy := func(name, field string) string {
		return fmt.Sprintf("metric %s { name %q; units ops; unitsType unnormalized; aggregateOperator sum; style EventCounter; counter a; counter b;\n"+
			"constraint %sOfLoop /Code/*/* is replace counter { append preInsn $constraint[0].%s (* a = a * 3 + (b - 1) * (a + 7); b = b + (a > b) * 5; %s++; *) }\n"+
			"base is void { } }\n", name, name, name, field, name)
	}
	for _, flags := range [][]string{{"-O2"}, {"-O3"}, {"-O0"}} {
		t.Run(flags[0][1:], func(t *testing.T) {
			lines, inLoop := linesOfMixed(t)
			s := attachBuilt(t, "peer.c", flags, strings.Join(lines, ""), heavy("enters", "enter"), heavy("exits", "exit"), heavy("starts", "start_iter"), heavy("ends", "end_iter"),
				metric("around", []string{"a"}, at("mixed", "entry", "a = $arg[0] * 3; around += 1;"), `prepend preInsn $function("mixed").return (* a = a * a; around += 1; *)`))
			names, err := s.d.ListLoops("peer.c", "mixed")
			if err != nil || len(names) == 0 {
				t.Fatalf("loops of mixed: %q, %v", names, err)
			}
			pairs := []string{"around", "exec_time_inclusive@/Code/peer.c/mixed/" + names[0]}
			for _, name := range names {
				for _, m := range []string{"enters", "exits", "starts", "ends"} {
					pairs = append(pairs, m+"@/Code/peer.c/mixed/"+name)
				}
			}
			total := 0.0
			var served []string
			for n := range rounds(5, 500) {
				s.enable(pairs...)
				if n == 0 {
					served = s.possible(lineNames(len(lines)))
				} else {
					s.enable(served...)
				}
				total += s.run("mixed", 200)["mixed"]
				s.disable()
				s.run("mixed", 50)
			}
			s.want("around", 2*total)
			outer := "@/Code/peer.c/mixed/" + names[0]
			s.want("enters"+outer, total)
			s.want("exits"+outer, total)
			if flags[0] == "-O0" { // the turns of mixed's loop: 20 to 24, in turn
				s.want(inLoop, 22*total)
			}
			if len(served) < len(lines)/2 {
				t.Errorf("only %d of %d lines have points", len(served), len(lines))
			}
			t.Logf("%d loops, %d of %d lines, %d sites in and out", len(names), len(served), len(lines), s.d.Probes().Inserted)
			s.end()
		})
	}
}

// linesOfMixed are metrics that count at each line of mixed, with code that uses every register that a probe has; inLoop is the
// name of one whose line is inside the loop.
func linesOfMixed(t *testing.T) (texts []string, inLoop string) {
	t.Helper()
	src, err := os.ReadFile(filepath.Join(testprog.Root(t), "testdata", "targets", "peer.c"))
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for i, l := range strings.Split(string(src), "\n") {
		inside = inside && l != "}" || strings.Contains(l, "carry += ")
		if !inside || !strings.Contains(l, "=") {
			continue
		}
		name := lineName(len(texts))
		if strings.Contains(l, "b << 7") {
			inLoop = name
		}
		texts = append(texts, metric(name, []string{"a", "b"},
			fmt.Sprintf(`append preInsn $line("peer.c", %d) (* a = a * 3 + (b - 1) * (a + 7); b = b + (a > b) * 5; %s++; *)`, i+1, name)))
	}
	return texts, inLoop
}

func lineName(i int) string { return fmt.Sprintf("line_%d", i) }

func lineNames(n int) (names []string) {
	for i := range n {
		names = append(names, lineName(i))
	}
	return names
}

// possible enables those of the pairs that have room, and returns them.
func (s *session) possible(pairs []string) (served []string) {
	s.t.Helper()
	for _, p := range pairs {
		err := s.d.Enable(s.keysOf([]string{p}), &s.sums)[0].Err
		var refused grid.ErrRefused
		switch {
		case errors.As(err, &refused):
			s.t.Logf("%s: %v", p, err)
		case err != nil:
			s.enable(p)
			fallthrough
		default:
			s.on[p] = true
			served = append(served, p)
		}
	}
	return served
}
