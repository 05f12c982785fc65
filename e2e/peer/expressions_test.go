package peer

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"culprit/grid"
	"culprit/pcl"
	"culprit/pcl/check"
)

// values are the numbers of which peer.c makes all pairs.
var values = []int64{math.MinInt64, math.MinInt32, -66666, -1, 0, 1, 2, 3, math.MaxInt32, math.MaxInt32 + 1, math.MaxInt64}

// holds is for how many pairs of values a relation holds.
func holds(relation func(a, b int64) bool) (n float64) {
	for _, a := range values {
		for _, b := range values {
			if relation(a, b) {
				n++
			}
		}
	}
	return n
}

// unsupported checks that a metric is refused, with its reason, before anything of a target is looked at.
func unsupported(t *testing.T, statement, reason string) {
	t.Helper()
	lib := load(t, metric("refused", []string{"x"}, statement))
	var u *pcl.Unsupported
	if err := lib.Check("refused", grid.Whole()); !errors.As(err, &u) || !strings.Contains(err.Error(), reason) {
		t.Errorf("%s: %v, want a refusal that says %q", statement, err, reason)
		return
	}
	t.Logf("refused as it should be: %s", statement)
}

// callWithoutArguments: code at a function's entry calls another function, without arguments.
func callWithoutArguments(t *testing.T) {
	s := attach(t, "peer.c", metric("calls", nil, at("zero", "entry", "callee_a();")))
	s.enable("calls", "procedure_calls@/Code/peer.c/callee_a")
	counts := s.run("zero", rounds(200_000, 30_000_000))
	s.disable()
	s.want("procedure_calls@/Code/peer.c/callee_a", counts["zero"])
	if counts["callee_a"] != counts["zero"] {
		t.Errorf("callee_a was called %.0f times at %.0f entries", counts["callee_a"], counts["zero"])
	}
	s.end()
}

// callWithFourArguments: code at a function's entry calls another with four arguments, which that checks, and takes its result; and
// an expression over the four arguments of the function at hand arrives complete in the counter.
func callWithFourArguments(t *testing.T) {
	s := attach(t, "peer.c", metric("total", nil, at("four", "entry", "total += $arg[0] + $arg[1] * 10 + $arg[2] * 100 + $arg[3] * 1000;")),
		metric("results", nil, at("zero", "entry", "results += four(1, 2, 3, 4);")))
	s.enable("total")
	n := rounds(100_000, 10_000_000)
	s.run("four", n)
	s.disable()
	want := 0.0
	for i := range n {
		want += float64(1 + i%100 + 20 + 300 + 4000)
	}
	s.want("total", want)
	s.enable("results")
	counts := s.run("zero", n)
	s.disable()
	s.want("results", 10*float64(n))
	if counts["four"] != float64(n) {
		t.Errorf("four was called %.0f times at %d entries", counts["four"], n)
	}
	s.end()
}

// passVariables: there, variables of the program and of the tool are handed to a function. Here a variable of the probe is
// handed from a function's entry to its exit, where it meets the function's result. Variables of the program are not read.
func passVariables(t *testing.T) {
	s := attach(t, "peer.c", metric("difference", []string{"seen"}, at("keep", "entry", "seen = $arg[0];"),
		"prepend preInsn $function(\"keep\").return (* difference += $return - seen; *)"))
	s.enable("difference")
	n := s.run("keep", rounds(100_000, 10_000_000))["keep"]
	s.disable()
	s.want("difference", 32*n)
	unsupported(t, at("keep", "entry", `x = readSymbol("tally");`), "readSymbol")
	s.end()
}

// sequence: several pieces of code at one point run one after the other: what the last one sets stays.
func sequence(t *testing.T) {
	s := attach(t, "peer.c", metric("last", nil, at("zero", "entry", "last = 42; last = 43;")),
		metric("seen", []string{"v"}, at("zero", "entry", "v = 42; v = v + 1; if (v == 43) seen++; v = 44;")))
	s.enable("last", "seen")
	n := s.run("zero", rounds(100_000, 10_000_000))["zero"]
	s.disable()
	s.want("last", 43) // the growth of a variable that was 0
	s.want("seen", n)
	s.end()
}

// ifWithoutElse: code below a condition runs if it holds, also at the ends of the range of 64 bits, and whether the condition
// is known before the program runs or depends on its arguments. Each condition adds its own power of two.
func ifWithoutElse(t *testing.T) {
	const low, high = "(-9223372036854775807 - 1)", "9223372036854775807"
	code := strings.Join([]string{"if (1 == 1) bits += 1;", "if (-1 == -1) bits += 2;", "if (" + low + " == " + low + ") bits += 4;",
		"if (" + high + " == " + high + ") bits += 8;", "if ($arg[0] == $arg[1]) bits += 16;",
		"if ($arg[0] == " + low + " && $arg[1] == " + high + ") bits += 32;",
		"if (0 == 1) bits += 1024;", "if (" + low + " != " + low + ") bits += 2048;", "if (" + high + " == 2147483648) bits += 4096;",
		"if ($arg[0] != $arg[0]) bits += 8192;", "if ($arg[0] == 2147483647 && $arg[0] == -1) bits += 16384;"}, " ")
	s := attach(t, "peer.c", metric("bits", nil, at("pair", "entry", code)))
	s.enable("bits")
	n := float64(rounds(2000, 200_000))
	s.run("pair", int(n))
	s.disable()
	all, same := holds(func(_, _ int64) bool { return true }), holds(func(a, b int64) bool { return a == b })
	s.want("bits", n*(15*all+16*same+32))
	s.end()
}

// arithmeticOperators: sums, differences, products and negatives are what the processor makes of them, 64 bits wide and
// wrapping: the program hands its own results to the function at which the probe computes them again. Division by 0
// gives 0 and never stops the program; PCL has no exclusive or.
func arithmeticOperators(t *testing.T) {
	operators := map[string]string{"plus": "$arg[0] + $arg[1] == $arg[2]", "minus": "$arg[0] - $arg[1] == $arg[3]",
		"times": "$arg[0] * $arg[1] == $arg[4]", "negative": "-$arg[0] == $arg[5]",
		"mixed":   "($arg[0] + $arg[1]) * ($arg[0] - $arg[1]) == $arg[2] * $arg[3]",
		"divided": "($arg[0] == 0) + ($arg[0] / $arg[0] == 1) == 1 && $arg[0] / 1 == $arg[0] && $arg[0] / -1 == $arg[5] && $arg[0] / 0 == 0"}
	var texts, names []string
	for name, e := range operators {
		texts = append(texts, metric(name, nil, at("six", "entry", "if ("+e+") "+name+"++;")))
		names = append(names, name)
	}
	constants := "folded += 60 + 2; folded += 64 - 1; folded += 6 * 5; folded += -1 + -1; folded += -66666 - -66666; folded += 4600387192 * 123; " +
		"if (3 * 2147483647 == 6442450941) folded += 1; if (2147483647 - 9223372036854775807 - (2147483648 - 9223372036854775807 - 1) == 0) folded += 1;"
	texts = append(texts, metric("folded", nil, at("zero", "entry", constants)))
	s := attach(t, "peer.c", texts...)
	s.enable(append(names, "folded")...)
	n := s.run("six", rounds(2000, 200_000))["six"]
	s.run("zero", 1)
	s.disable()
	for _, name := range names {
		s.want(name, n)
	}
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	constant := 60 + 2 + 64 - 1 + 6*5 - 2 + 4600387192*123 + 1.0
	if math.MaxInt32-high-(-math.MinInt32+low) == 0 {
		constant++
	}
	s.want("folded", constant)
	s.end()
}

// relationalOperators: each comparison, and each way to join two, holds for as many pairs of numbers as it should.
func relationalOperators(t *testing.T) {
	relations := map[string]struct {
		text string
		f    func(a, b int64) bool
	}{
		"less": {"a < b", func(a, b int64) bool { return a < b }}, "equal": {"a == b", func(a, b int64) bool { return a == b }},
		"greater": {"a > b", func(a, b int64) bool { return a > b }}, "different": {"a != b", func(a, b int64) bool { return a != b }},
		"at_most": {"a <= b", func(a, b int64) bool { return a <= b }}, "at_least": {"a >= b", func(a, b int64) bool { return a >= b }},
		"both":     {"a && b", func(a, b int64) bool { return a != 0 && b != 0 }},
		"one":      {"a || b", func(a, b int64) bool { return a != 0 || b != 0 }},
		"constant": {"a < -1", func(a, _ int64) bool { return a < -1 }},
		"joined":   {"(a < 0 && b > 2) || a == b", func(a, b int64) bool { return a < 0 && b > 2 || a == b }},
	}
	var texts, names []string
	args := strings.NewReplacer("a", "$arg[0]", "b", "$arg[1]")
	for name, r := range relations {
		texts = append(texts, metric(name, nil, at("pair", "entry", "if ("+args.Replace(r.text)+") "+name+"++;")))
		names = append(names, name)
	}
	s := attach(t, "peer.c", texts...)
	s.enable(names...)
	n := float64(rounds(2000, 200_000))
	s.run("pair", int(n))
	s.disable()
	for name, r := range relations {
		s.want(name, n*holds(r.f))
	}
	s.end()
}

// registersAroundExpressions: an expression that needs more registers than a probe has, at the entry and at the exit of a
// function with ten arguments, four of them on the stack; the function looks at its arguments, its caller at the result.
func registersAroundExpressions(t *testing.T) {
	e := "((($arg[0] + 80) + ($arg[1] + 80)) + (($arg[2] + 80) + ($arg[3] + 80))) + ((($arg[4] + 80) + ($arg[5] + 80)) + (87 + 88))"
	s := attach(t, "peer.c", metric("large", []string{"kept"}, at("ten", "entry", "kept = "+e+"; large += "+e+";"),
		`prepend preInsn $function("ten").return (* if (kept == 676 && ($return * 2 + 1) * 3 == (56 + 55) * 3) large += 1; *)`))
	s.enable("large")
	n := s.run("ten", rounds(100_000, 10_000_000))["ten"]
	s.disable()
	s.want("large", 677*n)
	s.end()
}

// orderOfSnippets: of three pieces at one point, one put there, one put before it and one put behind it, each runs in its turn.
func orderOfSnippets(t *testing.T) {
	s := attach(t, "peer.c", metric("ordered", []string{"digits"}, at("zero", "entry", "digits = digits * 10 + 2;"),
		`prepend preInsn $function("zero").entry (* digits = digits * 10 + 1; *)`, at("zero", "entry", "digits = digits * 10 + 3;"),
		at("zero", "entry", "if (digits == 123) ordered++; digits = 0;")))
	s.enable("ordered")
	n := s.run("zero", rounds(100_000, 10_000_000))["zero"]
	s.disable()
	s.want("ordered", n)
	s.end()
}

// argumentsResultsAndNothing: all arguments and the result of a call can be read, each is worth its own bit, and code that
// does nothing does nothing. The function's own look at its arguments and at that result must not change.
func argumentsResultsAndNothing(t *testing.T) {
	var code strings.Builder
	for i := range 5 {
		fmt.Fprintf(&code, "if ($arg[%d] == %d) bits += %d; ", i, 131+i, 1<<i)
	}
	s := attach(t, "peer.c", metric("bits", nil, at("five", "entry", code.String()), at("five", "entry", "if (0 == 1) bits += 1000;"),
		`prepend preInsn $function("gives").return (* if ($return == 1310) bits += 32; *)`))
	s.enable("bits")
	n := s.run("five", rounds(100_000, 10_000_000))["five"]
	s.disable()
	s.want("bits", 63*n)
	s.end()
}

// repetitionAndAllOff has two parts. The newer suite has a loop in the inserted code here. Code of a probe has no loops, so that
// it always ends soon; what is repeated is known before and unrolled, and a loop that is not is a mistake in the text. The
// older one switched all that it had inserted off and on again in one step: while all is off nothing is counted, and the
// program's code is as in its file.
func repetitionAndAllOff(t *testing.T) {
	s := attach(t, "peer.c", `resourceList powers is int { items { 1, 2, 4, 8, 16, 32, 64, 128 }; }`,
		metric("unrolled", nil, `foreach n in powers append preInsn $function("zero").entry (* if (n != 16) unrolled += n; *)`))
	all := []string{"unrolled", "procedure_calls@/Code/peer.c/zero", "procedure_calls@/Code/peer.c/caller", "exec_time@/Code/peer.c/caller",
		"exec_time_inclusive@/Code/peer.c/zero", "cpu_inclusive@/Code/peer.c/callee_c"}
	const times, calls = 20, 1000
	for range times {
		s.enable(all...)
		s.run("zero", calls)
		s.run("caller", calls)
		s.disable(all...)
		s.run("zero", calls) // not counted
		s.d.Settle()
		s.originalText(s.p.PID)
	}
	s.want("unrolled", times*calls*(255-16))
	s.want("procedure_calls@/Code/peer.c/zero", times*calls)
	s.want("procedure_calls@/Code/peer.c/caller", times*calls)
	_, problems, err := check.Load(check.Options{Texts: []string{metric("endless", nil, at("zero", "entry", "while (1) endless++;"))}})
	if err != nil || len(problems) == 0 {
		t.Errorf("a loop inside of a probe was taken: %v %v", problems, err)
	}
	s.end()
}

// ifElse: of a condition and its contrary exactly one takes effect, with code of some bytes and of some thousands in between.
func ifElse(t *testing.T) {
	const pieces = 60
	then := at("pair", "entry", strings.Repeat("if ($arg[0] < $arg[1]) yes += 1; ", pieces))
	otherwise := at("pair", "entry", strings.Repeat("if ($arg[0] >= $arg[1]) no += 1; ", pieces))
	s := attach(t, "peer.c", metric("yes", nil, then), metric("no", nil, otherwise),
		metric("small", nil, at("pair", "entry", "if ($arg[0] < $arg[1]) small += 1; if ($arg[0] >= $arg[1]) small += 1000;")))
	s.enable("yes", "no", "small")
	n := float64(rounds(500, 50_000))
	s.run("pair", int(n))
	s.disable()
	yes := holds(func(a, b int64) bool { return a < b })
	no := holds(func(a, b int64) bool { return a >= b })
	s.want("yes", n*yes*pieces)
	s.want("no", n*no*pieces)
	s.want("small", n*(yes+1000*no))
	s.end()
}
