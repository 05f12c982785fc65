package daemon

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"culprit/grid"
	"culprit/internal/testprog"
	"culprit/pcl"
	"culprit/trampoline"
)

// An argCount is code at the entry of a function that must count what the target counts itself.
type argCount struct{ at, code, count string }

var commandCounts = []argCount{
	{"call", `if ($arg.cmd->name == "GET") m++`, "call_GET"},
	{"call", `if ($arg[1]->name == "SET") m++`, "call_SET"},
	{"call", `if ("GETX" == $arg.cmd->name) m++`, "call_GETX"},
	{"call", `if ($arg.cmd->name == "G") m++`, "call_G"},
	{"call", `if ($arg.cmd->name == "DEL") m++`, "call_DEL"},
	{"call", `if ($arg.cmd->name == "ZRANGEBYSCOREWITHLIMITS") m++`, "call_ZRANGEBYSCOREWITHLIMITS"},
	{"call", "m += $arg.c->argc", "argc"},
	{"call", "m += $arg.cmd->arity", "arity"},
	{"call", "m += $arg[1]->keys.last", "last_key"},
	{"call", "if ($arg.cmd->level == -2) m++", "low"},
	{"call", `if ($arg.c->name == "worker") m++`, "named"},
	{"call", `if ($arg.c->peer->last->name == "DEL") m++`, "peers"},
	{"respond", "m += $arg.seventh", "seventh"},
	{"respond", `if ($arg.eighth == "bulk") m++`, "eighth"},
	{"respond", `if ($arg[7] == "bulk") m++`, "eighth"},
	{"respond", "m += $arg.ninth->argc", "ninth"},
	{"respond", `if ($arg.r.tag == "pong") m++`, "tagged"},
	{"respond", "m += $arg[10]", "third"}, // behind two words of r
	{"opens", `if ($arg.path == "/etc/hosts") m++`, "opened"},
	{"opens", `if ($arg[0] == "/etc/hosts") m += $arg.flags`, "opened"},
	{"dangling", `m++`, "dangling"},
}

var shapeCounts = []argCount{
	{"plane::Circle::area(int)", "m++", "area"},
	{"plane::Circle::area(int)", "m += $arg.scale", "scale"},
	{"plane::Circle::area(int)", "m += $arg.this->radius", "radius"},
	{"plane::Circle::area(int)", "m += $arg[0]->id", "id"},
	{"plane::Circle::grow(int, plane::Named const&)", "m += $arg.by", "by"},
	{"plane::Circle::grow(int, plane::Named const&)", "m += $arg.how.length", "length"},
	{"plane::Circle::grow(int, plane::Named const&)", `if ($arg.how.name == "fast" && $arg.this->name == "circle") m++`, "fast"},
	{"take(plane::Rich, plane::Pair, int&)", "m += $arg.r.value", "rich"},
	{"take(plane::Rich, plane::Pair, int&)", "m += $arg.last", "last"},
}

// argMetrics are metrics m0, m1, .. for the counts.
func argMetrics(counts []argCount) string {
	var sb strings.Builder
	for i, c := range counts {
		code := strings.NewReplacer("m++", fmt.Sprintf("m%d++", i), "m +=", fmt.Sprintf("m%d +=", i)).Replace(c.code)
		fmt.Fprintf(&sb, `metric m%d { name "m%d"; units x; unitsType unnormalized; aggregateOperator sum; style EventCounter; doc "Of a test.";
 base is counter { append preInsn $function("%s").entry (* %s; *) } }
`, i, i, c.at, code)
	}
	return sb.String()
}

// TestTypedArguments counts by names, fields and texts of arguments in C and C++ programs, not optimised and optimised, as exactly
// as the programs themselves, while pointers lead nowhere and to what comes and goes.
func TestTypedArguments(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"-O0", "-O2"} {
		t.Run("command "+flag, func(t *testing.T) {
			countArguments(t, testprog.Build(t, "testdata/targets/command.c", flag), commandCounts)
		})
		t.Run("shapes "+flag, func(t *testing.T) {
			countArguments(t, testprog.Build(t, "testdata/targets/shapes.cc", flag), shapeCounts)
		})
	}
}

func countArguments(t *testing.T, bin string, counts []argCount) {
	rounds := "5000"
	if *long {
		rounds = "500000"
	}
	want := undisturbedDone(t, bin, rounds)
	p := testprog.StartTarget(t, bin, rounds)
	d := attachWith(t, argMetrics(counts), p.PID)
	var s sums
	var keys []grid.PairKey
	for i := range counts {
		keys = append(keys, key(t, fmt.Sprint("m", i), "/"))
	}
	d.mustEnable(t, &s, keys...)
	begun := time.Now()
	p.Say(t, "go")
	p.Expect(t, "DONE", 5*time.Minute)
	took := time.Since(begun)
	d.Disable(keys)
	own := p.Counts()
	for i, c := range counts {
		if got := s.of(keys[i]); got != float64(own[c.count]) || got == 0 {
			t.Errorf("%s at %s: %v, the target counts %d", c.code, c.at, got, own[c.count])
		}
	}
	t.Logf("%d metrics exact: %v; %v", len(counts), own, took)
	detachClean(t, d, p.PID)
	if got := p.Stop(t); got != want {
		t.Errorf("hash %s, undisturbed %s", got, want)
	}
}

// undisturbedDone is the hash of a run without us.
func undisturbedDone(t *testing.T, bin string, args ...string) string {
	p := testprog.StartTarget(t, bin, args...)
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	return p.Stop(t)
}

// TestDanglingPointers reads behind pointers to nothing, to the end of memory, to addresses that are none, and to a page that is
// unmapped and mapped again all the while: what cannot be read counts 0 and is equal to no text, and the target never notices.
func TestDanglingPointers(t *testing.T) {
	t.Parallel()
	rounds := 20_000
	if *long {
		rounds = 2_000_000
	}
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/command.c"), fmt.Sprint(rounds))
	counts := []argCount{
		{"dangling", `if ($arg.text == "hi") m++`, "text that ends where memory ends"},
		{"dangling", `if ($arg.text == "hxhi") m++`, "another one"},
		{"dangling", `if ($arg.text == "hihi") m++`, "text that would go on behind the end"},
		{"dangling", `if ($arg.text == "here") m++`, "text in a page that comes and goes"},
		{"dangling", "m += $arg.c->argc", "numbers"},
		{"dangling", "m += $arg.c->peer->fd", "numbers behind pointers behind nothing"},
		{"dangling", `if ($arg.c->last->name == "x") m++`, "texts behind them"},
		{"dangling", "m++", "all"},
	}
	d := attachWith(t, argMetrics(counts), p.PID)
	var s sums
	var keys []grid.PairKey
	for i := range counts {
		keys = append(keys, key(t, fmt.Sprint("m", i), "/"))
	}
	d.mustEnable(t, &s, keys...)
	p.Say(t, "go")
	p.Expect(t, "DONE", 5*time.Minute)
	d.Disable(keys)
	var got []float64
	for i, c := range counts {
		got = append(got, s.of(keys[i]))
		t.Logf("%s: %v", c.count, got[i])
	}
	each := 0 // of a thread, for number 3 of 11, and for number 4
	other := 0
	for i := range rounds {
		if i%11 == 3 {
			each++
		}
		if i%11 == 4 {
			other++
		}
	}
	if got[0] != float64(2*each) || got[1] != float64(2*other) {
		t.Errorf("%v and %v texts at the end of memory, want %d and %d", got[0], got[1], 2*each, 2*other)
	}
	if got[2] != 0 || got[4] != 0 || got[5] != 0 || got[6] != 0 || got[7] != float64(2*rounds) {
		t.Errorf("what cannot be read counts: %v", got)
	}
	if got[3] == 0 || got[3] > float64(2*rounds/11+2) {
		t.Errorf("%v texts in the page that comes and goes, of %d", got[3], 2*rounds/11)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestTypedArgumentErrors: what is wrong with an argument is said when the metric is enabled.
func TestTypedArgumentErrors(t *testing.T) {
	cases := []argCount{
		{"call", "m += $arg.cmdd->arity", `call has no parameter "cmdd" (did you mean "cmd"?); it has c, cmd`},
		{"call", "m += $arg.cmd->arty", `struct command has no field "arty" (did you mean "arity"?)`},
		{"call", "m += $arg.cmd->hot", "the field hot is a bit field, which probes cannot read"},
		{"call", "m += $arg.c->load", "is a floating-point number (double)"},
		{"call", "m += $arg.cmd.arity", "cmd is a pointer: write ->arity"},
		{"call", `if ($arg.c->fd == "x") m++`, "expected char * or char []"},
		{"call", `if ($arg.c->name == "longer than it") m++`, "expected at most 12: $arg.c->name has no room for more"},
		{"opens", "m += $arg.weight", "weight cannot be read: it is a floating-point number (double)"},
		{"_start", "m += $arg.pid", "the types of _start are not known: "},
	}
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/command.c"), "10")
	d := attachWith(t, argMetrics(cases), p.PID)
	var s sums
	for i, c := range cases {
		r := d.Enable([]grid.PairKey{key(t, fmt.Sprint("m", i), "/")}, &s)
		if r[0].Err == nil || !strings.Contains(r[0].Err.Error(), c.count) {
			t.Errorf("%s: %v, want %s", c.code, r[0].Err, c.count)
		}
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestTextBounds: what the language allows the trampolines can do.
func TestTextBounds(t *testing.T) {
	if pcl.MaxText+1 != trampoline.MaxText {
		t.Errorf("texts of %d bytes and their end, of %d in a trampoline", pcl.MaxText, trampoline.MaxText)
	}
}

// TestArgumentsUnderFilter: where a filter could end the program for a system call, probes make none.
func TestArgumentsUnderFilter(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/seccomp.c"))
	d := attachWith(t, argMetrics([]argCount{{"poll", "m += $arg[1]", ""}, {"_start", `if ($arg[0] == "x") m++`, ""}}), p.PID)
	var s sums
	time.Sleep(100 * time.Millisecond) // the filter comes after READY
	if r := d.Enable([]grid.PairKey{key(t, "m1", "/")}, &s); !errors.As(r[0].Err, new(grid.ErrUnsupported)) {
		t.Errorf("a text behind a pointer under a filter: %v", r[0].Err)
	}
	numbers := key(t, "m0", "/")
	d.mustEnable(t, &s, numbers)
	for range 6 {
		p.MustBeat(t, 5*time.Second)
	}
	d.Disable([]grid.PairKey{numbers})
	if s.of(numbers) == 0 {
		t.Error("numbers in registers are not seen")
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestLateFilter: probes that make system calls are gone soon after a program has put itself under a filter; others stay.
func TestLateFilter(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/seccomp.c"), "kill", "late")
	d := attachWith(t, argMetrics([]argCount{{"printf", `if ($arg[0] != "no text") m++`, ""}, {"poll", "m += $arg[1]", ""}}), p.PID)
	var s sums
	asking, silent := key(t, "m0", "/"), key(t, "m1", "/")
	d.mustEnable(t, &s, asking, silent)
	grows := func(k grid.PairKey, within time.Duration) bool {
		begun := s.of(k)
		for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			if s.of(k) > begun {
				return true
			}
		}
		return false
	}
	if !grows(asking, 10*time.Second) || !grows(silent, 10*time.Second) {
		t.Error("nothing is counted before there is a filter")
	}
	p.Say(t, "go")
	stopped := time.Now()
	for grows(asking, time.Second) && time.Since(stopped) < 20*time.Second {
	}
	if grows(asking, time.Second) {
		t.Error("memory is still read through the kernel under a filter")
	}
	if !grows(silent, 10*time.Second) {
		t.Error("what makes no system calls is no longer counted")
	}
	t.Logf("gone within %v", time.Since(stopped)-2*time.Second)
	if r := d.Enable([]grid.PairKey{key(t, "m0", "/Process/"+d.targets[0].Name)}, &s); !errors.As(r[0].Err, new(grid.ErrUnsupported)) {
		t.Errorf("enabled under a late filter: %v", r[0].Err)
	}
	d.Disable([]grid.PairKey{asking, silent})
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestMovedArguments: a copy that the compiler has made of a function has other arguments than the source; its name says so where no DWARF does.
func TestMovedArguments(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"-g", "-g0"} {
		p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/tails.c", "-O2", flag))
		d := attachWith(t, resultMetrics([]resultCount{{"moved", "m += $arg[1]", ""}, {"moved", "m += (int)$arg[0]", ""}, {"moved", "m += $return", ""}}), p.PID)
		var s sums
		for i, want := range []string{"in which arguments were optimised away: their numbers are not those of the source", "moved", "moved"} {
			err := d.Enable([]grid.PairKey{key(t, "m"+string(rune('0'+i)), "/")}, &s)[0].Err
			if err == nil && !(flag == "-g" && i == 1) || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s, metric %d: %v, want %q", flag, i, err, want)
			}
		}
		detachClean(t, d, p.PID)
		p.Stop(t)
	}
}
