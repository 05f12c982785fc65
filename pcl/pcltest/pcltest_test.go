package pcltest

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func parse(t *testing.T, text string) *File {
	t.Helper()
	f, errs := Parse("a.pcltest", text)
	for _, e := range errs {
		t.Errorf("%s", e.Detail())
	}
	if t.Failed() {
		t.FailNow()
	}
	return f
}

const everything = `# what all tests begin with
needs server /usr/lib/*/server
compile "a b.c" -O1 "-DX=y z"
	int main(void)
	{

		return 0;
	}
file conf
    one
      two $x

# the body is over
pcl lib.pcl
start as srv $server --port 0 '$x' "in $dir/s" ${dir}x ""

test it's a name # with all
say to srv hello  "world" it's $dir # all
say  to2
await srv line "^PID ([0-9]+)$" within 3s
await end 7
await socket $dir/s
await run true within within 1s
take pid 'PID (\d+)'
measure $pid children
enable cpu at /Code/a.c
disable cpu at /Code/a.c
sleep 1.5s
search
search for 3s
stop
expect cpu_inclusive at "/Code/a.cc/f(int, char)" average is ($pid + 2) * -3 / $srv within 2 % as x
expect calls min >= 0x10
expect calls at /Shop/front,/Process/$pid p99.9 > 1
expect hypothesis TooMany at "/Shop/back office" tested
expect hypothesis TooMany untested
expect calls at /Process/$pid error 'no such'
check $x is 1e3 within $x / 10 # a comment
pcl error "wrong"
	metric x { }

test another
start x
measure
expect cpu < 1
`

// TestStatements reads one of each.
func TestStatements(t *testing.T) {
	f := parse(t, everything)
	if len(f.Tests) != 2 || f.Tests[0].Name != "it's a name # with all" || len(f.Tests[1].Steps) != 5+3 {
		t.Fatalf("%+v", f.Tests)
	}
	values := func(name string) (string, error) { return "<" + name + ">", nil }
	var got []string
	for _, s := range f.Tests[0].Steps {
		got = append(got, show(t, s, values))
	}
	want := []string{
		`needs server /usr/lib/*/server`, `compile a b.c [-O1 -DX=y z] "int main(void)\n{\n\n\treturn 0;\n}\n"`, `file conf "one\n  two $x\n"`,
		`pcl lib.pcl  false`, `start srv [<server> --port 0 $x in <dir>/s <dir>x ]`, `say srv hello  "world" it's <dir> # all`, `say  to2`,
		`await line srv ^PID ([0-9]+)$ -1 [] 3s`, `await end   7 [] 20s`, `await socket   -1 [<dir>/s] 20s`, `await run   -1 [true within] 1s`,
		`take pid PID (\d+)`, `measure  <pid> true`, `enable cpu /Code/a.c`, `disable cpu /Code/a.c`, `sleep 1.5s`, `search 30s`, `search 3s`, `stop`,
		`expect cpu_inclusive /Code/a.cc/f(int, char) average "" x: is ($pid + 2) * -3 / $srv within 2 %`, `expect calls / min "" : >= 0x10`,
		`expect calls /Shop/front,/Process/<pid> p99.9 "" : > 1`, `hypothesis TooMany /Shop/back office tested`, `hypothesis TooMany / untested`,
		`expect calls /Process/<pid>  "no such" : `, `check $x: is 1e3 within $x / 10`, `pcl  wrong true`,
	}
	for i, w := range want {
		if i >= len(got) || got[i] != w {
			t.Errorf("statement %d:\n%s, want\n%s", i, got[min(i, len(got)-1)], w)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d statements, want %d", len(got), len(want))
	}
}

func show(t *testing.T, s Step, values func(string) (string, error)) string {
	words := func(list []Word) (out []string) {
		for _, w := range list {
			text, err := w.Expand(values)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, text)
		}
		return out
	}
	one := func(w Word) string { return strings.Join(words([]Word{w}), "") }
	switch s := s.(type) {
	case Needs:
		return fmt.Sprint("needs ", s.Name, " ", one(s.Pattern))
	case Compile:
		return fmt.Sprintf("compile %s %v %q", s.Source, words(s.Flags), s.Body.Text())
	case WriteFile:
		return fmt.Sprintf("file %s %q", s.Name, s.Body.Text())
	case PCL:
		return fmt.Sprint("pcl ", s.File, " ", s.Error, " ", s.Body != nil)
	case Start:
		return fmt.Sprint("start ", s.Name, " ", words(s.Args))
	case Say:
		return fmt.Sprint("say ", s.To, " ", one(s.Text))
	case Await:
		line := ""
		if s.Line != nil {
			line = s.Line.String()
		}
		return fmt.Sprint("await ", s.Kind, " ", s.Who, " ", line, " ", s.Status, " ", words(s.Args), " ", s.Within)
	case Take:
		return fmt.Sprint("take ", s.Name, " ", s.Regexp)
	case Measure:
		return fmt.Sprint("measure ", s.Who, " ", one(s.PID), " ", s.Children)
	case Enable:
		return fmt.Sprint("enable ", s.Metric, " ", one(s.Focus))
	case Disable:
		return fmt.Sprint("disable ", s.Metric, " ", one(s.Focus))
	case Sleep:
		return fmt.Sprint("sleep ", s.For)
	case Search:
		return fmt.Sprint("search ", s.For)
	case Hypothesis:
		return fmt.Sprint("hypothesis ", s.Name, " ", one(s.Focus), " ", s.State)
	case Stop:
		return "stop"
	case Expect:
		return fmt.Sprintf("expect %s %s %s %q %s: %s", s.Metric, one(s.Focus), s.View, s.Error, s.As, s.Relation.Text)
	case Check:
		return fmt.Sprintf("check %s: %s", s.Text, s.Relation.Text)
	}
	return fmt.Sprintf("%T", s)
}

// TestErrors: each says where, what was found, and what would be right.
func TestErrors(t *testing.T) {
	const ok = "test x\nstart p\nmeasure\nexpect cpu < 1\n"
	for _, c := range []struct{ text, want string }{
		{"", `a.pcltest:1:1: the file has no test; a line "test NAME" begins one`},
		{"# nothing\n", `a.pcltest:2:1: the file has no test`},
		{ok + "expct cpu < 1", `a.pcltest:5:1: found "expct", expected a statement: one of test, needs`},
		{ok + "expct cpu < 1", `(did you mean "expect"?)`},
		{"test", `a.pcltest:1:5: found the end of the line, expected the name of the test`},
		{ok + ok, `there is a test of this name already, in line 1`},
		{ok + "  stop", "a.pcltest:4:1: expect takes no body"},
		{"  stop\n" + ok, "a.pcltest:1:3: an indented line, but no statement above it takes a body"},
		{ok + "run 'it", "a.pcltest:5:5: the closing ' is missing on this line"},
		{ok + "say x $nowhere", `a.pcltest:5:7: there is no $nowhere at this place; there are $dir, $here`},
		{ok + "say x $dirr", `(did you mean "dir"?)`},
		{ok + "await lien READY", `a.pcltest:5:7: found "lien", expected what is waited for: one of line`},
		{ok + "await line '('", "missing closing )"},
		{ok + "await line x y", `a.pcltest:5:14: found "y", expected the end of the line`},
		{ok + "await end 256", `found "256", expected an exit status, 0 to 255`},
		{ok + "await line x within 2h", "of at most 1h0m0s"},
		{ok + "await port", "found the end of the line, expected its path or number"},
		{ok + "sleep soon", `found "soon", expected a length of time, such as 500ms or 2s`},
		{ok + "sleep -1s", "expected a length of time"},
		{ok + "expect", "a.pcltest:5:7: found the end of the line, expected a metric"},
		{ok + "expect cpu", "a.pcltest:5:11: found the end of the line, expected one of is, <"},
		{ok + "expect cpu ist 1", `found "ist", expected one of is, <, <=, >, >= (did you mean "is"?)`},
		{ok + "expect cpu at Code/x is 1", `a.pcltest:5:15: focus "Code/x": column 1`},
		{ok + "expect cpu is", "a.pcltest:5:14: found the end, expected a number, $name or ("},
		{ok + "expect cpu is 1 +", "found the end, expected a number"},
		{ok + "expect cpu is (1", `found the end, expected ")"`},
		{ok + "expect cpu is 1 2", "a.pcltest:5:17: found '2', expected an operator (+ - * /) or the end of the line"},
		{ok + "expect cpu is 1x", "found '1', expected a number"},
		{ok + "expect cpu is 1e999", "expected a number"},
		{ok + "expect cpu is 1 within", "found the end, expected a number"},
		{ok + "expect cpu is 1 within %", "found the end, expected a number"},
		{ok + "expect cpu is " + strings.Repeat("(", 200) + "1", "less nesting"},
		{ok + "expect cpu is 1" + strings.Repeat("+1", 2000), "the expression has more than 1000 parts"},
		{ok + "run" + strings.Repeat(" x", 2000), "the line has more than 1000 words"},
		{ok + "expect cpu error", "expected what the message must say"},
		{ok + "expect cpu error ''", "expected what the message must say"},
		{ok + "check $x", "expected one of is, <"},
		{ok + "check is 1", "a.pcltest:5:7: found the end, expected a number"},
		{ok + "take 1x y", `expected the name of a variable: letters, digits and _`},
		{ok + "take x", "a.pcltest:5:7: found the end of the line, expected a regular expression"},
		{ok + "compile x.f", "expected a name that ends with .c or .cc"},
		{ok + "compile ../x.c\n  int x;", "without a directory"},
		{ok + "file x", "the text of the file is missing"},
		{ok + "file ..\n  x", "without a directory"},
		{ok + "pcl", "expected a file, or indented lines below with PCL"},
		{ok + "pcl error x", "the PCL that must be refused is missing"},
		{ok + "say", "found the end of the line, expected what is said"},
		{ok + "say to nobody x", `no program was started as "nobody"`},
		{ok + "run", "expected a program and its arguments"},
		{ok + "stop it", `found "it", expected the end of the line`},
		{ok + "expect cpu at /Codes/x/y is 1", `a.pcltest:5:15: focus "/Codes/x/y"`},
		{ok + "expect cpu at /Shop/a,/Store/b is 1", `a.pcltest:5:15: focus`},
		{ok + "expect cpu p is 1", `found "p", expected one of is, <`},
		{ok + "expect cpu p101 is 1", `found "p101", expected one of is, <`},
		{ok + "expect cpu p5e1 is 1", `found "p5e1", expected one of is, <`},
		{ok + "expect hypothesis", "a.pcltest:5:18: found the end of the line, expected the name of a hypothesis"},
		{ok + "expect hypothesis X", "found the end of the line, expected one of true, false, tested, untested"},
		{ok + "expect hypothesis X at / tru", `found "tru", expected one of true, false, tested, untested (did you mean "true"?)`},
		{ok + "expect hypothesis X true 1", `found "1", expected the end of the line`},
		{ok + "expect hypothesis X at y true", `a.pcltest:5:24: focus "y"`},
		{ok + "expect hypothesis X true", `a.pcltest:5:1: expect hypothesis without "search" between "measure" and it`},
		{"test x\nstart p\nmeasure\nsearch\nmeasure\nexpect hypothesis X true", `a.pcltest:6:1: expect hypothesis without "search"`},
		{"test x\nexpect hypothesis X true", `a.pcltest:2:1: expect without "measure"`},
		{"test x\nsearch", `a.pcltest:2:1: search without "measure"`},
		{ok + "search", "a.pcltest:5:1: search after measuring is over"},
		{ok + "search 3s", `found "3s", expected "for" and a length of time, or the end of the line`},
		{ok + "search for", "expected a length of time"},
		{ok + "search for 3s x", `found "x", expected the end of the line`},
		{"test x\nexpect cpu < 1", `a.pcltest:2:1: expect without "measure" before it in the test`},
		{"test x\nstop", `stop without "measure"`},
		{ok + "enable cpu", "a.pcltest:5:1: enable after measuring is over"},
		{ok + "stop", "a.pcltest:5:1: stop after measuring is over"},
		{"test x\nmeasure\nexpect cpu < 1", `a.pcltest:2:1: no program was started before`},
		{"test x\nstart as srv y\nmeasure srw\nexpect cpu < 1", `no program was started as "srw" (did you mean "srv"?)`},
		{"test x\nstart y", "a.pcltest:1:1: the test expects nothing"},
		{strings.Repeat("x\n", 100), "too many errors; the rest of the file was not read"},
		{strings.Repeat("#", MaxText+1), "at most 1048576 can be read"},
		{strings.Repeat("run true\n", 1000) + strings.Repeat("test x\n", 1) + many(100), "the tests have more than 20000 statements"},
	} {
		_, errs := Parse("a.pcltest", c.text)
		var all []string
		for _, e := range errs {
			all = append(all, e.Error())
		}
		if !strings.Contains(strings.Join(all, "\n"), c.want) {
			t.Errorf("%.100q:\n%s\nshould say %s", c.text, strings.Join(all, "\n"), c.want)
		}
		if len(errs) > maxErrors {
			t.Errorf("%.100q: %d errors", c.text, len(errs))
		}
	}
}

func many(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "test number %d\n", i)
	}
	return b.String()
}

func TestExpressions(t *testing.T) {
	vars := func(name string) (float64, error) {
		if name == "two" {
			return 2, nil
		}
		return 0, errors.New("no " + name)
	}
	for text, want := range map[string]float64{
		"1": 1, "1 + 2 * 3": 7, "(1+2)*3": 9, "10 - 2 - 3": 5, "12/3/2": 2, "-$two": -2, "- (1 + 1) * 3": -6, "2*-3": -6, "0x10": 16, "1e3": 1000, "1.5e-1": 0.15,
		".5": .5, "$two*$two": 4, "$two-1": 1, "1e3-1": 999, "0x1f": 31,
	} {
		f := parse(t, "test x\ncheck "+text+" is 0")
		got, err := f.Tests[0].Steps[0].(Check).Expr.Eval(vars)
		if err != nil || got != want {
			t.Errorf("%s: %v %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{"1 / 0": "a division by 0", "1 / ($two - 2)": "a division by 0", "1 + $three": "no three"} {
		f := parse(t, "test x\ncheck "+text+" is 0")
		if _, err := f.Tests[0].Steps[0].(Check).Expr.Eval(vars); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		relation string
		got      float64
		ok       bool
		expected string
	}{
		{"is 3", 3, true, "3"}, {"is 3", 3.0001, false, "3"}, {"is 1000000", 1000001, false, "1000000"}, {"is 9007199254740991", 9007199254740990, false, "9007199254740991"}, {"is 0", 1e-300, false, "0"},
		{"is 2", 2.0000000000000004, true, "2"},
		{"is 100 within 1%", 101, true, "100 within 1%, it is +1.00% off"}, {"is 100 within 1%", 101.1, false, "100 within 1%, it is +1.10% off"},
		{"is -100 within 1 %", -99, true, "-100 within 1%, it is -1.00% off"}, {"is 0 within 1%", 0, true, "0 within 1%, it is not"},
		{"is 5 within 0.5", 5.5, true, "5 within 0.5, it is 0.5 off"}, {"is 5 within 0.5", 5.6, false, "5 within 0.5, it is 0.6 off"},
		{"< 1", 1, false, "< 1"}, {"<= 1", 1, true, "<= 1"}, {"> 1", 1, false, "> 1"}, {">= 1", 1, true, ">= 1"},
		{"> 1", math.NaN(), false, "> 1"}, {"<= 1", math.NaN(), false, "<= 1"}, {"is 1 within 50%", math.NaN(), false, "1 within 50%, it is not"},
	} {
		f := parse(t, "test x\ncheck 0 "+c.relation)
		ok, expected, err := f.Tests[0].Steps[0].(Check).Relation.Verdict(c.got, nil)
		if err != nil || ok != c.ok || expected != c.expected {
			t.Errorf("%v %s: %v, %q, %v; want %v, %q", c.got, c.relation, ok, expected, err, c.ok, c.expected)
		}
	}
}

// TestBodyPlaces: a place in a body is one of the file.
func TestBodyPlaces(t *testing.T) {
	f := parse(t, "test x\npcl error y\n\tmetric a {\n\t  b }\n")
	b := f.Tests[0].Steps[0].(PCL).Body
	pos := b.Pos
	pos.Off, pos.Line, pos.Col = strings.Index(b.Raw, "b }"), 2, 4
	if p := b.Place(pos); p.String() != "a.pcltest:4:4" || f.Source.Text[p.Off:p.Off+3] != "b }" {
		t.Errorf("%v %q", p, f.Source.Text[p.Off:])
	}
}

// TestLargeFiles: reading takes time in proportion to the size.
func TestLargeFiles(t *testing.T) {
	const head = "test x\nstart y\nmeasure\nexpect cpu < 1\n"
	for _, line := range []string{"say a b c d\n", "check ((((1))))*2 < 3\n", "# c\n", "\t\n", "await line 'x*'\n"} {
		text := head + strings.Repeat(line, min(maxSteps-10, (MaxText-len(head))/len(line)))
		from := time.Now()
		if _, errs := Parse("a", text); len(errs) > 0 {
			t.Errorf("%q: %v", line, errs[0])
		}
		if took := time.Since(from); took > 5*time.Second {
			t.Errorf("%d bytes of %q took %v", len(text), line, took)
		}
	}
}

// FuzzParse: whatever a file holds, it is read or refused; every error is inside of the file.
func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("../../testdata/pcl/*.pcltest")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(everything)
	f.Fuzz(func(t *testing.T, text string) {
		file, errs := Parse("f", text)
		for _, e := range errs {
			if e.Pos.Off < 0 || e.Pos.Off > len(text) || e.Pos.Line < 1 || e.Pos.Col < 1 {
				t.Fatalf("%v at byte %d of %d", e, e.Pos.Off, len(text))
			}
			e.Detail()
		}
		for _, x := range file.Tests {
			for _, s := range x.Steps {
				if c, ok := s.(Check); ok && len(errs) == 0 {
					c.Expr.Eval(func(string) (float64, error) { return 1, nil })
				}
			}
		}
	})
}
