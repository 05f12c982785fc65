package syntax

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// parseOK parses a text that must have no errors.
func parseOK(t *testing.T, src string) *Tree {
	t.Helper()
	tree, errs := Parse("test.pcl", src)
	for _, e := range errs {
		t.Errorf("%s", e.Detail())
	}
	return tree
}

// examples are files with everything that the language has, and those of the library.
func examples(t testing.TB) []string {
	t.Helper()
	library, err := filepath.Glob("../lib/*.pcl")
	if err != nil || len(library) == 0 {
		t.Fatalf("no library: %v", err)
	}
	return append(library, "../testdata/conformance.pcl", "../testdata/additions.pcl")
}

// TestPrintAgain: the canonical layout of the canonical layout is the same, and no comment is lost.
func TestPrintAgain(t *testing.T) {
	for _, file := range examples(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		once := Print(parseOK(t, string(text)))
		twice := Print(parseOK(t, once))
		if diff := cmp.Diff(once, twice); diff != "" {
			t.Errorf("%s: printing again differs (-once +twice):\n%s", file, diff)
		}
		if a, b := strings.Count(string(text), "//"), strings.Count(once, "//"); a != b {
			t.Errorf("%s: %d comments before printing, %d behind it", file, a, b)
		}
	}
}

func TestPrint(t *testing.T) {
	const before = `
// first

// second
metric   m{name"x";units CPUs;flavor{unix,mpi} // why
constraint c; counter n;
constraint r /Code/* is replace counter{} constraint d /Machine is default;
// base
base is counter{foreach f in $procedures if(f.name=="a"){append preInsn f.entry constrained(*if(($arg[0]+1)*2==3)m+=1;n++;*)
prepend postInsn f.calls (* // odd
m = (a, b);
*) } } // end
}
tunable_constant "a" 1; tunable_constant { "b" TRUE; // yes
}
exclude noCase regex"/Code/x";
// tail`
	tree, errs := Parse("t", strings.Replace(before, "(a, b)", "a - (b - c) - -(d.e)", 1))
	if len(errs) > 0 {
		t.Fatal(errs[0].Detail())
	}
	const after = `// first

// second
metric m {
    name "x";
    units CPUs;
    flavor { unix, mpi }; // why
    constraint c;
    counter n;
    constraint r /Code/* is replace counter { }
    constraint d /Machine is default;
    // base
    base is counter {
        foreach f in $procedures
            if (f.name == "a") {
                append preInsn f.entry constrained (* if (($arg[0] + 1) * 2 == 3) m += 1; n++; *)
                prepend postInsn f.calls (*
                    // odd
                    m = a - (b - c) - -d.e;
                *)
            }
    } // end
}

tunable_constant "a" 1;

tunable_constant {
    "b" true; // yes
}

exclude noCase regex "/Code/x";

// tail
`
	if diff := cmp.Diff(after, Print(tree)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPrecedence(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{"a || b && c == d < e + f * g", "(a || (b && (c == (d < (e + (f * g))))))"},
		{"a * b + c < d == e && f || g", "((((((a * b) + c) < d) == e) && f) || g)"},
		{"a - b - c", "((a - b) - c)"},
		{"a = b += c", "(a = (b += c))"},
		{"-a.b[1]++ / c", "(-a.b[1]++ / c)"},
		{"(int)a + b * (unsigned char)-c[1].d", "((int)a + (b * (unsigned char)-c[1].d))"},
		{"-(long)(a + b) < (size_t)(int)7", "(-(long)(a + b) < (size_t)(int)7)"},
		{"(int) + (long - 1) * (int)(char)", "(int + ((long - 1) * (int)char))"},
		{`x@"/" / max(1, y)`, `(x@"/" / max(1, y))`},
	} {
		tree := parseOK(t, "expect e { "+c.in+"; }")
		if got := grouped(tree.Defs[0].Items[0].Expr); got != c.out {
			t.Errorf("%s: got %s, want %s", c.in, got, c.out)
		}
	}
}

func grouped(e *Expr) string {
	if e.Kind == Binary || e.Kind == Assign {
		return "(" + grouped(e.X) + " " + e.Text + " " + grouped(e.Y) + ")"
	}
	return e.String()
}

func TestErrors(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"caret", "metric m {\n\tname x;\n}", "t:2:7: found \"x\", expected a string in quotes, such as \"x\"\n     name x;\n          ^"},
		{"suggest item", "metric m { naem \"x\"; }", `(did you mean "name"?)`},
		{"suggest definition", "metrik m { }", `(did you mean "metric"?)`},
		{"open string", "exclude \"abc\n;", `t:1:9: found a string without its closing quote`},
		{"strange character", "metric ü { }", `found the character 'ü', which PCL does not use`},
		{"end of text", "metric m {", `found the end of the text, expected`},
		{"no code", "constraint c /Code is counter { append preInsn x.entry constraind (* *) }", `found "constraind", expected "constrained" or "(*"`},
		{"expression", "expect e { 1 + ; }", `found ";", expected an expression`},
		{"big number", "expect e { 99999999999999999999; }", "at most 64 bits"},
		{"number with letters", "expect e { 12ab; }", "a number with letters behind it"},
		{"dollar", "expect e { $; }", `a "$" without a name`},
		{"deep blocks", "constraint c /Code is counter " + strings.Repeat("{", 100000), "nesting deeper than"},
		{"deep parentheses", "expect e { " + strings.Repeat("(", 100000), "nesting deeper than"},
		{"deep minus", "expect e { " + strings.Repeat("- ", 100000), "nesting deeper than"},
		{"deep foreach", "constraint c /Code is counter { " + strings.Repeat("foreach a in b ", 100000), "nesting deeper than"},
		{"deep assignment", "expect e { " + strings.Repeat("a=", 100000), "nesting deeper than"},
		{"long sum", "expect e { 1" + strings.Repeat("+1", 100000), "an expression of more than"},
		{"long fields", "expect e { a" + strings.Repeat(".b", 100000), "an expression of more than"},
		{"long path", "constraint c " + strings.Repeat("/a", 100000), "a path longer than"},
		{"big text", strings.Repeat(" ", MaxText+1), "expected at most 10485760"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, errs := Parse("t", c.src)
			if len(errs) == 0 {
				t.Fatal("no error")
			}
			if got := errs[0].Detail(); !strings.Contains(got, c.want) {
				t.Errorf("got:\n%s\nwant in it:\n%s", got, c.want)
			}
		})
	}
}

// TestRecovery: what is around a bad definition is read.
func TestRecovery(t *testing.T) {
	for _, c := range []struct{ name, src, defs string }{
		{"inside braces", "visi a { } visi b { force x; limit 3; } visi c { }", "a c"},
		{"before the brace", "visi a { } visi 5 { limit 3; } visi c { }", "a c"},
		{"forgotten brace", "visi a { }\nvisi b { force 1;\nvisi c { }\nvisi d { }", "a c d"},
		{"unknown definition", "visi a { } visit b { limit 3; } visi c { }", "a c"},
		{"junk statement", "visi a { } junk junk; visi c { }", "a c"},
		{"brace too many", "visi a { } } visi c { }", "a c"},
		{"forgotten name", "visi a { }\nvisi\nvisi c { }", "a c"},
		{"nested", "visi a { } metric b { base is counter { append { } } } visi c { }", "a c"},
		{"open string", "visi a { } visi b { command \"x; }\n } visi c { }", "a c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree, errs := Parse("t", c.src)
			if len(errs) != 1 {
				t.Errorf("%d errors, want 1: %v", len(errs), errs)
			}
			var names []string
			for _, d := range tree.Defs {
				names = append(names, d.Name)
			}
			if got := strings.Join(names, " "); got != c.defs {
				t.Errorf("read %q, want %q", got, c.defs)
			}
		})
	}
}

func TestManyErrorsEnd(t *testing.T) {
	_, errs := Parse("t", strings.Repeat("junk;\n", 40000)+"metric m { }")
	if len(errs) != maxErrors+1 || errs[maxErrors].Error() != "t:51:1: and 39950 more errors, the first of them here" {
		t.Errorf("%d errors reported, want %d: %v", len(errs), maxErrors+1, errs[len(errs)-1])
	}
	tree, errs := Parse("t", strings.Repeat("junk;\n", 60000))
	if len(errs) != maxErrors+2 || !strings.Contains(errs[maxErrors+1].Msg, "split it into several files") {
		t.Errorf("%d errors reported, want %d: %v", len(errs), maxErrors+2, errs[len(errs)-1])
	}
	if tree.File.Name != "t" {
		t.Error("no tree")
	}
}

func TestDidYouMean(t *testing.T) {
	names := []string{"sync_wait", "sync_ops", "cpu"}
	for in, want := range map[string]string{"sync_wiat": "sync_wait", "syncops": "sync_ops", "gpu": "cpu", "zzz": "", "": ""} {
		if got := Nearest(in, names); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestSimilar(t *testing.T) {
	names := []string{"handle_request", "handle", "cpu", "candle", "unhandled", "io"}
	for in, want := range map[string]string{"handl": "handle,candle,unhandled,handle_request", "Handle": "handle,candle,unhandled,handle_request", "cpus": "cpu", "zzz": "", "": "", "handle_requests_now": "handle,handle_request"} {
		if got := strings.Join(Similar(in, names, 4), ","); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := Similar("handle", names, 1); len(got) != 1 {
		t.Errorf("more than were asked for: %q", got)
	}
}

// TestClosest: what is meant is found by its letters, its words and its parts; a name that has nothing in common with any is left alone.
func TestClosest(t *testing.T) {
	names := []string{"procedure_calls", "exec_time", "exec_time_inclusive", "sync_wait", "SyncObject", "startWallTimer", "Code", "io_latency"}
	for in, want := range map[string]string{
		"proc_calls": "procedure_calls", "Procedure-Calls": "procedure_calls", "PROCEDURECALLS": "procedure_calls", "procCalls": "procedure_calls",
		"latency": "io_latency", "time": "exec_time", "exec_tmie": "exec_time", "syncobjects": "SyncObject", "sync_object": "SyncObject", "code": "Code",
		"swait": "", "sync_wiat": "sync_wait", "startTimer": "", "nosuch": "", "": "", "calls_proc": "", "io": "", strings.Repeat("x", 1000): "",
	} {
		if got := Closest(in, names); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := Closest("x", []string{"", strings.Repeat("x", 1000)}); got != "" {
		t.Errorf("got %q", got)
	}
}

// FuzzParse: no text crashes the parser, and what it could read without an error survives being printed.
func FuzzParse(f *testing.F) {
	for _, file := range examples(f) {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
		for _, part := range strings.SplitAfter(string(text), "\n}\n") {
			f.Add(part)
		}
	}
	f.Fuzz(func(t *testing.T, src string) {
		tree, errs := Parse("fuzz", src)
		for _, e := range errs {
			if e.Detail() == "" {
				t.Error("an error without text")
			}
		}
		once := Print(tree)
		again, errs := Parse("printed", once)
		if len(errs) > 0 {
			t.Fatalf("printed text does not parse: %s\n%s", errs[0].Detail(), once)
		}
		if len(again.Defs) != len(tree.Defs) {
			t.Fatalf("%d definitions, printed %d", len(tree.Defs), len(again.Defs))
		}
		if twice := Print(again); once != twice {
			t.Fatalf("printing is not stable:\n%s", cmp.Diff(once, twice))
		}
		meaning(reflect.ValueOf(tree.Defs))
		meaning(reflect.ValueOf(again.Defs))
		if !reflect.DeepEqual(tree.Defs, again.Defs) {
			t.Fatalf("printing has changed the meaning of\n%s\nto\n%s", src, once)
		}
	})
}

// meaning takes places and comments out of a tree, and the case of booleans.
func meaning(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			meaning(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			meaning(v.Index(i))
		}
	case reflect.Struct:
		if x, ok := v.Addr().Interface().(*Value); ok && x.Kind == Bool {
			x.Text = ""
		}
		for i := range v.NumField() {
			switch v.Type().Field(i).Name {
			case "Pos", "ConstrainedPos", "Comments", "Tail":
				v.Field(i).SetZero()
			default:
				meaning(v.Field(i))
			}
		}
	}
}

// FuzzLex: the tokens of any text follow each other with nothing but blanks and comments in between, and each knows its place.
func FuzzLex(f *testing.F) {
	for _, seed := range []string{"metric m { } // x\n\"a\" 0x1f 1.5 1. -> ++ (* *) $a", "\"", "0x", "$", "\xff\x00é", "/", "1e5", "//\r\n\t a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, src string) {
		l := lexer{file: &File{Text: src}, line: 1, col: 1}
		end := 0
		for {
			tok := l.next()
			between := src[end:tok.pos.Off]
			if !onlyBlanks(between) {
				t.Fatalf("%q lies between two tokens", between)
			}
			before := src[:tok.pos.Off]
			line, col := 1+strings.Count(before, "\n"), 1+starts(before[strings.LastIndexByte(before, '\n')+1:])
			if tok.pos.Line != line || tok.pos.Col != col {
				t.Fatalf("%v is at %d:%d, want %d:%d", tok, tok.pos.Line, tok.pos.Col, line, col)
			}
			if tok.kind == eof {
				if tok.pos.Off != len(src) && !l.full {
					t.Fatal("the end comes early")
				}
				return
			}
			if end = l.off; end <= tok.pos.Off || tok.String() == "" {
				t.Fatalf("an empty token at %v", tok.pos)
			}
		}
	})
}

// starts counts the bytes that begin a character.
func starts(s string) (n int) {
	for _, c := range []byte(s) {
		if utf8.RuneStart(c) {
			n++
		}
	}
	return n
}

func onlyBlanks(s string) bool {
	for line := range strings.Lines(s) {
		code, _, _ := strings.Cut(line, "//")
		if strings.Trim(code, " \t\r\n") != "" {
			return false
		}
	}
	return true
}
