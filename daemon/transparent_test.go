package daemon

import (
	"errors"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"culprit/daemon/libc"
	"culprit/daemon/program"
	"culprit/grid"
	"culprit/internal/require"
	"culprit/internal/testprog"
)

// A build is a way to compile a target.
type build struct {
	name  string
	flags []string
	strip bool
}

var builds = []build{
	{"pie", nil, false},
	{"nopie", []string{"-no-pie", "-fno-pie"}, false},
	{"static", []string{"-static"}, false},
	{"staticpie", []string{"-static-pie"}, false},
	{"endbr", []string{"-fcf-protection=full"}, false},
	{"O0", []string{"-O0"}, false},
	{"O3", []string{"-O3"}, false},
	{"Os", []string{"-Os", "-fomit-frame-pointer"}, false},
	{"stripped", nil, true},
}

func (b build) make(t testing.TB, source string) string {
	bin := testprog.Build(t, filepath.Join("testdata", "targets", source), b.flags...)
	if !b.strip {
		return bin
	}
	out := filepath.Join(t.TempDir(), filepath.Base(bin))
	require.Tool(t, "strip")
	if text, err := exec.Command("strip", "-o", out, bin).CombinedOutput(); err != nil {
		t.Fatalf("strip: %v\n%s", err, text)
	}
	return out
}

// functionsOf lists the pairs of a metric with every function that pick takes, in order of address.
func functionsOf(d *Daemon, metric string, pick func(*program.Function) bool) (keys []grid.PairKey) {
	d.lockAll()
	defer d.unlockAll()
	t := d.targets[0]
	listAll(t)
	var fs []*program.Function
	for _, f := range t.Known() {
		if pick(f) {
			fs = append(fs, f)
		}
	}
	sort.Slice(fs, func(i, j int) bool { return fs[i].ID < fs[j].ID })
	seen := map[string]bool{}
	for _, f := range fs {
		k := grid.PairKey{Metric: metric, Focus: grid.Whole().Refine(grid.Code, f.Fn.Module, f.Fn.Name)}
		if !seen[k.String()] {
			seen[k.String()] = true
			keys = append(keys, k)
		}
	}
	return keys
}

// enableAll enables what can be enabled; the only errors allowed are reasons why a function is not to be touched.
func enableAll(t testing.TB, d *Daemon, sink grid.Sink, keys []grid.PairKey) (on []grid.PairKey) {
	t.Helper()
	var refused grid.ErrRefused
	var deferred grid.ErrDeferred
	for _, r := range d.Enable(keys, sink) {
		switch {
		case r.Err == nil:
			on = append(on, r.Key)
		case errors.As(r.Err, &refused), errors.As(r.Err, &deferred):
		case strings.Contains(r.Err.Error(), "probe variables"):
		default:
			t.Errorf("%s: %v", r.Key, r.Err)
		}
	}
	return on
}

// undisturbed is the hash that a program prints when nobody attaches to it.
func undisturbed(t *testing.T, bin string, args ...string) string {
	t.Helper()
	p := testprog.StartTarget(t, bin, args...)
	p.Say(t, "go")
	return p.Stop(t)
}

// inMain picks the functions of the program itself.
func inMain(d *Daemon) func(*program.Function) bool {
	main := d.targets[0].Main()
	return func(f *program.Function) bool { return f.Obj == main }
}

// batches cuts a list of pairs into pieces whose variables fit into the thread blocks.
func batches(keys []grid.PairKey, n int) (out [][]grid.PairKey) {
	for len(keys) > 0 {
		k := min(n, len(keys))
		out, keys = append(out, keys[:k]), keys[k:]
	}
	return out
}

// TestEveryFunctionOfAProgram instruments every function of self-checking programs at entry and exits, in and out while
// they run. What the programs compute and how they end must be as in an undisturbed run.
func TestEveryFunctionOfAProgram(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"selfcheck.c", "ipara.c", "switch.c"} {
		for i, b := range builds {
			if source != "selfcheck.c" && !*long && i%3 != len(source)%3 {
				continue
			}
			t.Run(strings.TrimSuffix(source, ".c")+"/"+b.name, func(t *testing.T) {
				bin := b.make(t, source)
				want := undisturbed(t, bin)
				p := testprog.StartTarget(t, bin)
				d := attachTo(t, p.PID)
				n, times := toggleAll(t, d, p)
				detachClean(t, d, p.PID)
				p.MustBeat(t, 5*time.Second)
				if got := p.Stop(t); got != want {
					t.Errorf("hash %s, undisturbed %s", got, want)
				}
				t.Logf("%d functions, %d times in and out", n, times)
			})
		}
	}
}

// toggleAll puts counters and timers at every function of the program and takes them out, again and again.
func toggleAll(t *testing.T, d *Daemon, p *testprog.Prog) (functions, times int) {
	t.Helper()
	var s sums
	counters := functionsOf(d, "procedure_calls", inMain(d))
	timers := functionsOf(d, "exec_time_inclusive", inMain(d))
	until := time.Now().Add(400 * time.Millisecond)
	for n := rounds(3, 50); times < n || times < 50 && time.Now().Before(until); times++ {
		for _, some := range batches(timers, 400) {
			enableAll(t, d, &s, counters[:min(len(counters), 400)])
			on := enableAll(t, d, &s, some)
			functions = max(functions, len(on))
			d.Disable(counters)
			d.Settle()
			d.Disable(on)
			if !p.Alive() {
				t.Fatalf("the target has died: status %d, last lines %q", p.Wait(t, time.Second), last(p.Lines(), 3))
			}
		}
	}
	return functions, times
}

func last(lines []string, n int) []string { return lines[max(0, len(lines)-n):] }

// TestEveryFunctionOfLibc counts all functions of the C library that can be instrumented, and times some, in programs that
// use it in several threads, with signals.
func TestEveryFunctionOfLibc(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"selfcheck.c", "eventloop.c", "calls.c"} {
		t.Run(source, func(t *testing.T) {
			bin := testprog.Build(t, "testdata/targets/"+source)
			want := undisturbed(t, bin)
			p := testprog.StartTarget(t, bin)
			d := attachTo(t, p.PID)
			isC := func(f *program.Function) bool {
				return libc.IsC(f.Obj.Name) && d.targets[0].Plans.Made(f).Reason() == ""
			}
			keys := functionsOf(d, "procedure_calls", isC)
			var s sums
			on := enableAll(t, d, &s, keys)
			p.Say(t, "go")
			time.Sleep(300 * time.Millisecond)
			d.Disable(on)
			d.Settle()
			timers := functionsOf(d, "exec_time_inclusive", isC)
			for range rounds(1, 20) {
				rand.Shuffle(len(timers), func(i, j int) { timers[i], timers[j] = timers[j], timers[i] })
				on := enableAll(t, d, &s, timers[:300])
				time.Sleep(200 * time.Millisecond)
				d.Disable(on)
			}
			called := 0
			for _, k := range on {
				if s.of(k) > 0 {
					called++
				}
			}
			detachClean(t, d, p.PID)
			if got := p.Stop(t); got != want {
				t.Errorf("hash %s, undisturbed %s", got, want)
			}
			t.Logf("%d of %d functions counted, %d were called", len(on), len(keys), called)
			if len(on) < 1000 || called < 5 {
				t.Errorf("only %d functions of the C library could be instrumented, %d were called", len(on), called)
			}
		})
	}
}

// TestExceptions lets C++ exceptions pass through instrumented frames: counts are exact, times are sane.
func TestExceptions(t *testing.T) {
	t.Parallel()
	for _, b := range []build{builds[0], builds[1], builds[4], builds[5], {"static", []string{"-static"}, false}} {
		t.Run(b.name, func(t *testing.T) {
			bin := b.make(t, "throw.cc")
			const calls = "20000"
			want := undisturbed(t, bin, calls)
			p := testprog.StartTarget(t, bin, calls)
			d := attachTo(t, p.PID)
			var s sums
			counters, timers := map[string]grid.PairKey{}, map[string]grid.PairKey{}
			var keys []grid.PairKey
			for _, n := range []string{"source", "middle", "outer", "attempt"} {
				counters[n], timers[n] = nameOf(t, d, "procedure_calls", n), nameOf(t, d, "exec_time_inclusive", n)
				keys = append(keys, counters[n], timers[n])
			}
			d.mustEnable(t, &s, keys...)
			start := time.Now()
			p.Say(t, "go")
			p.Expect(t, "DONE", time.Minute)
			took := time.Since(start).Seconds()
			d.Disable(keys)
			counts := p.Counts()
			for n, k := range counters {
				if got := uint64(s.of(k)); got != counts[n] || got == 0 {
					t.Errorf("%s: %d calls counted, the program made %d", n, got, counts[n])
				}
			}
			for n, k := range timers {
				if v := s.of(k); v <= 0 || v > took*1.01 {
					t.Errorf("%s: %.3f s of %.3f s", n, v, took)
				}
			}
			if a, o := s.of(timers["attempt"]), s.of(timers["outer"]); o > a*1.02+0.01 {
				t.Errorf("outer took %.4f s, attempt which calls it %.4f s", o, a)
			}
			detachClean(t, d, p.PID)
			if got := p.Stop(t); got != want {
				t.Errorf("hash %s, undisturbed %s", got, want)
			}
		})
	}
}

// nameOf is the pair of a metric with the function of the program whose plain name is given.
func nameOf(t testing.TB, d *Daemon, metric, name string) grid.PairKey {
	t.Helper()
	keys := functionsOf(d, metric, func(f *program.Function) bool {
		plain, _, _ := strings.Cut(f.Fn.Name, "(")
		return f.Obj == d.targets[0].Main() && plain == name
	})
	if len(keys) != 1 {
		t.Fatalf("%d functions are called %s", len(keys), name)
	}
	return keys[0]
}

// TestLibraryCallsThroughThePLT counts a library's functions: every way into them is their entry.
func TestLibraryCallsThroughThePLT(t *testing.T) {
	bin := testprog.Build(t, "testdata/targets/calls.c")
	p := testprog.StartTarget(t, bin, "300000", "3")
	d := attachTo(t, p.PID)
	var s sums
	name := ""
	for _, o := range d.targets[0].Objects() {
		if libc.IsC(o.Name) {
			name = o.Name
		}
	}
	keys := []grid.PairKey{key(t, "procedure_calls", "/Code/"+name+"/getppid"), key(t, "procedure_calls", "/Code/"+name+"/__ctype_toupper_loc"), // what gcc makes of toupper
		key(t, "procedure_calls", "/Code/calls.c/library_calls")}
	d.mustEnable(t, &s, keys...)
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	d.Disable(keys)
	counts := p.Counts()
	for i, n := range []string{"getppid", "toupper", "library_calls"} {
		if got := uint64(s.of(keys[i])); got != counts[n] || got == 0 {
			t.Errorf("%s: %d calls counted, the program made %d", n, got, counts[n])
		}
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}
