package daemon

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"culprit/daemon/image"
	"culprit/grid"
	"culprit/internal/testprog"
)

// callMetric counts the calls of what a name means.
func callMetric(metric, function string) string {
	return fmt.Sprintf(`metric %[1]s { name "%[1]s"; units x; unitsType unnormalized; aggregateOperator sum; style EventCounter; doc "Of a test.";
	constraint procedureInclusive; base is counter { append preInsn $function("%[2]s").entry constrained (* %[1]s++; *) } }
`, metric, function)
}

// TestNamesMean: a name without parameters means all overloads, scopes may be left out where one function only is meant, globs match, a
// copy that the compiler has made is its function, and a name in two libraries means both, or that of the module that is named.
func TestNamesMean(t *testing.T) {
	t.Parallel()
	bin := testprog.Build(t, "daemon/testdata/meant.cc", "-ldl")
	libs := []string{testprog.Build(t, "daemon/testdata/parse.c", "-shared", "-fPIC"), testprog.Build(t, "daemon/testdata/parseother.c", "-shared", "-fPIC")}
	args := append([]string{"1000"}, libs...)
	cases := []struct{ name, count string }{
		{"handle(Job*, int, int)", "one"}, {"handle(Job *,int,int)", "one"}, {"handle", "two"}, {"handle*", "two"}, {"h?ndle", "two"},
		{"app::Pool::push", "one"}, {"Pool::push", "one"}, {"Queue::push(int)", "one"}, {"*::push(int)", "two"},
		{"step", "one"}, {"advance", "one"}, {"abs", "one"}, {"svc_exit", "one"}, {"app::ffs", "one"},
		{"/Code/meant.cc/handle", "two"}, {"/Code/meant.cc/scaled", "one"}, {"/Code/meant.cc/app::ffs", "one"}, {"only_here", "one"}, {"hidden", "one"}, {"app::(anonymous namespace)::hidden", "one"}, {"convert", "two"}, {"convert<long>", "one"},
		{"scaled", "one"}, {"parse", "three"}, {"/Code/parse.c/parse", "two"}, {"/Code/parseother.c/parse", "one"},
	}
	want := undisturbedDone(t, bin, args...)
	p := testprog.StartTarget(t, bin, args...)
	text := ""
	for i, c := range cases {
		text += callMetric(fmt.Sprint("m", i), c.name)
	}
	d := attachWith(t, text, p.PID)
	var s sums
	var keys []grid.PairKey
	for i := range cases {
		keys = append(keys, key(t, fmt.Sprint("m", i), "/"))
	}
	d.mustEnable(t, &s, keys...)
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	d.Disable(keys)
	for i, c := range cases {
		if got := s.of(keys[i]); got != float64(p.Counts()[c.count]) || got == 0 {
			t.Errorf("%s was called %v times, the target counts %d", c.name, got, p.Counts()[c.count])
		}
		note, want := d.Notes(keys[i]), ""
		if c.name == "parse" {
			want = "parse is in parse.c, parseother.c: their calls are counted together; /Code/parse.c/parse is one of them"
		}
		if note != want {
			t.Errorf("%s: %q, want %q", c.name, note, want)
		}
	}
	detachClean(t, d, p.PID)
	if got := p.Stop(t); got != want {
		t.Errorf("hash %s, undisturbed %s", got, want)
	}
}

// TestNamesMeanNothing: a pair whose functions do not exist is refused when it is asked for, with what there is instead.
func TestNamesMeanNothing(t *testing.T) {
	t.Parallel()
	p := testprog.StartTarget(t, testprog.Build(t, "daemon/testdata/meant.cc", "-ldl"))
	cases := []struct{ name, code, focus, want string }{
		{"handl", "", "/", `no function matches "handl"; nearest: handle(Job*`},
		{"handle(int)", "", "/", `no function matches "handle(int)"; nearest: handle(Job*`},
		{"pusch", "", "/", `no function matches "pusch"; nearest: app::Pool::push(int)`},
		{"only", "", "/", `no function matches "only"; nearest: app::only_here(int)`},
		{"qqqq::zzzz", "", "/", `no function matches "qqqq::zzzz"`},
		{"nothing_*_like_this", "", "/", `no function matches "nothing_*_like_this"`},
		{"push", "", "/", `"push" may be any of app::Pool::push(int), other::Queue::push(int); name one of them`},
		{"twice", "", "/", `no function matches "twice": it is inlined everywhere (in 2 places)`},
		{"/Code/meant.cc/handl", "", "/", `nearest: handle(Job*`},
		{"main", "", "/Code/meant.cc/twice", "the target has no such function: it is inlined everywhere (in 2 places)"},
		{"main", "", "/Code/meant.cc/handl", "the target has no such function; nearest: handle(Job*"},
		{"main", "", "/Code/other.cc/only_here", "the target has no such function; there is /Code/meant.cc/app::only_here(int)"},
		{"scaled", "$arg.by", "/", "found $arg.by: by was optimised away"},
		{"scaled", "$arg[1]", "/", "found $arg[1]: by was optimised away"},
		{"scaled", "$arg.bye", "/", `has no parameter "bye" (did you mean "by"?)`},
	}
	text := callMetric("handled", "handle") + callMetric("bits", "ffs")
	for i, c := range cases {
		m := callMetric(fmt.Sprint("m", i), c.name)
		if c.code != "" {
			m = strings.Replace(m, "++", " += "+c.code, 1)
		}
		text += m
	}
	text += `resourceList mistyped is procedure { items { "handl", "pusch" }; flavor { any }; }
metric listed { name "listed"; units x; unitsType unnormalized; aggregateOperator sum; style EventCounter; doc "Of a test.";
	base is counter { foreach f in mistyped append preInsn f.entry (* listed++; *) } }
hierarchy Parts { item "partly" is { "/Code/meant.cc/handle", "/Code/meant.cc/pusch", "/Code/ment.cc" }; item "gone" is { "/Code/meant.cc/handl", "/Code/men.cc" }; }
resourceList some is procedure { items { "handle", "pusch" }; flavor { any }; }
metric partly { name "partly"; units x; unitsType unnormalized; aggregateOperator sum; style EventCounter; doc "Of a test.";
	base is counter { foreach f in some append preInsn f.entry (* partly++; *) } }
metric callsOfLeaf { name "callsOfLeaf"; units x; unitsType unnormalized; aggregateOperator sum; style EventCounter; doc "Of a test.";
	base is counter { foreach c in $function("only_here").calls append preInsn c (* callsOfLeaf++; *) } }
`
	d := attachWith(t, text, p.PID)
	var s sums
	for i, c := range cases {
		r := d.Enable([]grid.PairKey{key(t, fmt.Sprint("m", i), c.focus)}, &s)
		if r[0].Err == nil || !strings.Contains(r[0].Err.Error(), c.want) {
			t.Errorf("%s at %s: %v, want %q", c.name, c.focus, r[0].Err, c.want)
		}
	}
	for metric, want := range map[string]string{"listed": `no function matches "handl"; nearest: handle(Job*`, "callsOfLeaf": "callsOfLeaf@/ has no point in this program", "partly": "<nil>"} {
		r := d.Enable([]grid.PairKey{key(t, metric, "/")}, &s)
		if got := fmt.Sprint(r[0].Err); !strings.Contains(got, want) {
			t.Errorf("%s: %v, want %q", metric, got, want)
		}
	}
	for _, c := range []struct{ metric, item, err, note string }{
		{"partly", "", "<nil>", `no function matches "pusch"; nearest: app::Pool::push(int)`},
		{"handled", "partly", "<nil>", "refused at /Code/meant.cc/pusch: the target has no such function; nearest: app::Pool::push(int); refused at /Code/ment.cc: the target has no such module; nearest: meant.cc"},
		{"handled", "gone", "the target has nothing of what it stands for: /Code/meant.cc/handl (nearest: handle(Job*", ""},
		{"bits", "", "<nil>", "ffs is that of libc.so.6; the program's app::ffs(int) is not counted"},
	} {
		k := key(t, c.metric, "/")
		if c.item != "" {
			k.Focus = k.Focus.WithItem("Parts", c.item)
		}
		r := d.Enable([]grid.PairKey{k}, &s)
		if got := fmt.Sprint(r[0].Err); !strings.Contains(got, c.err) {
			t.Errorf("%v: %v, want %q", k, got, c.err)
		}
		if note := d.Notes(k); note != c.note {
			t.Errorf("the note of %v: %q, want %q", k, note, c.note)
		}
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// TestRust: methods are found by their type, by their trait and with the hash of the linker's name, and their results have their types.
func TestRust(t *testing.T) {
	t.Parallel()
	bin := testprog.Build(t, "daemon/testdata/jobs.rs")
	p := testprog.StartTarget(t, bin)
	hashed := ""
	for _, f := range functionsOfFile(t, bin) {
		if i := strings.Index(f.Linkage, "17h"); i > 0 && strings.Contains(f.Linkage, "5weigh") {
			hashed = f.Name + "::" + strings.TrimSuffix(f.Linkage[i+2:], "E")
		}
	}
	if hashed == "" {
		t.Fatal("no function has a hash in its linker's name")
	}
	cases := []struct{ name, point, code, count string }{
		{"Job::weigh", "entry", "m++", "all"}, {hashed, "entry", "m++", "all"}, {"weigh", "return", "if ($return < 0) m++", "weighed"},
		{"Job::work", "return", "if ($return < 0) m++", "worked"}, {"Work::work", "entry", "m++", "all"}, {"app::share", "entry", "m++", "all"},
	}
	text := ""
	for i, c := range cases {
		code := strings.ReplaceAll(c.code, "m++", fmt.Sprintf("m%d++", i))
		text += fmt.Sprintf(`metric m%[1]d { name "m%[1]d"; units x; unitsType unnormalized; aggregateOperator sum; style EventCounter; doc "Of a test.";
	base is counter { append preInsn $function("%[2]s").%[3]s (* %[4]s; *) } }
`, i, c.name, c.point, code)
	}
	text += `metric halves { name "halves"; units x; unitsType unnormalized; aggregateOperator sum; style EventCounter; doc "Of a test.";
	base is counter { append preInsn $function("share").return (* halves += $return; *) } }`
	d := attachWith(t, text, p.PID)
	var s sums
	var keys []grid.PairKey
	for i := range cases {
		keys = append(keys, key(t, fmt.Sprint("m", i), "/"))
	}
	d.mustEnable(t, &s, keys...)
	if err := d.Enable([]grid.PairKey{key(t, "halves", "/")}, &s)[0].Err; err == nil || !strings.Contains(err.Error(), "share returns a floating-point number (f64)") {
		t.Errorf("a floating-point result: %v", err)
	}
	p.Say(t, "go")
	p.Expect(t, "DONE", time.Minute)
	d.Disable(keys)
	for i, c := range cases {
		if got := s.of(keys[i]); got != float64(p.Counts()[c.count]) || got == 0 {
			t.Errorf("%s at %s: %v, the target counts %d", c.code, c.name, got, p.Counts()[c.count])
		}
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}

// functionsOfFile are the functions of a file.
func functionsOfFile(t *testing.T, path string) []*image.Function {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	o, err := image.Open(f, st.Size(), path)
	if err != nil {
		t.Fatal(err)
	}
	return o.Functions()
}
