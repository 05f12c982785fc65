package grid

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// The table goes both ways: text is canonical, and the elements are what it stands for.
func TestFocusText(t *testing.T) {
	tests := []struct {
		text  string
		h     Hierarchy
		elems []string
	}{
		{"/", Code, nil},
		{"/Code/queue.c/pop", Code, []string{"queue.c", "pop"}},
		{"/Process/srv{4242}/thr_4243{worker(void*)}", Process, []string{"srv{4242}", "thr_4243{worker(void*)}"}},
		{"/Process/4242", Process, []string{"4242"}},
		{"/Code/m.cc/operator%2F(A const&, B)", Code, []string{"m.cc", "operator/(A const&, B)"}},
		{"/Code/m.cc/std::map<int, std::less<int> >::operator[](int const&) const", Code, []string{"m.cc", "std::map<int, std::less<int> >::operator[](int const&) const"}},
		{"/Code/net%2Fhttp/(*Server).Serve", Code, []string{"net/http", "(*Server).Serve"}},
		{"/Code/[libfoo.so+0x1231]/{closure#1}", Code, []string{"[libfoo.so+0x1231]", "{closure#1}"}},
		{"/Code/100%/50%25/%2525", Code, []string{"100%", "50%25", "%2525"}},
		{"/Code/%252F/%25252f/%2F%2F", Code, []string{"%2F", "%252f", "//"}},
		{"/Code/a%2C/Code", Code, []string{"a,", "Code"}},
		{"/Code/operator%2C", Code, []string{"operator,"}},
		{"/Code/operator,(A, B)", Code, []string{"operator,(A, B)"}},
		{"/Code/a%2C  /%252C", Code, []string{"a,  ", "%2C"}},
		{"/Code/%00/%2500/x%00", Code, []string{"", "%00", "x%00"}},
		{"/Code/ a / b ", Code, []string{" a ", " b "}},
		{"/IO/File//var/tmp/x", IO, []string{"File", "/var/tmp/x"}},
		{"/IO/File//a%2Fb%2C%25,x/,/", IO, []string{"File", "/a%2Fb%2C%25,x/,/"}},
		{"/IO/File//a%2C/Code/x", IO, []string{"File", "/a,/Code/x"}},
		{"/IO/File//a%252C /Memory", IO, []string{"File", "/a%2C /Memory"}},
		{"/IO/Socket/[::1]:80,tcp", IO, []string{"Socket", "[::1]:80,tcp"}},
		{"/IO/File/%00", IO, []string{"File", ""}},
		{"/SyncObject/Mutex/cache_lock", SyncObject, []string{"Mutex", "cache_lock"}},
	}
	for _, tt := range tests {
		f, err := ParseFocus(tt.text)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if got := f.Elements(tt.h); !reflect.DeepEqual(got, tt.elems) {
			t.Errorf("%s: elements %q, want %q", tt.text, got, tt.elems)
		}
		if got := f.String(); got != tt.text {
			t.Errorf("%s: written as %s", tt.text, got)
		}
		if g := Whole().Refine(tt.h, tt.elems...); g != f {
			t.Errorf("%s: refined as %s", tt.text, g)
		}
		if f.Depth(tt.h) != len(tt.elems) {
			t.Errorf("%s: depth %d, want %d", tt.text, f.Depth(tt.h), len(tt.elems))
		}
	}
}

func TestFocusOrderAndSpaces(t *testing.T) {
	want := "/Code/queue.c/pop,/Process/srv{4242},/IO/File//var/tmp/x"
	for _, text := range []string{
		want,
		"/IO/File//var/tmp/x,/Process/srv{4242},/Code/queue.c/pop",
		"  /Process/srv{4242},  /IO/File//var/tmp/x, /Code/queue.c/pop",
		"/Process/srv{4242},/Machine,/IO/File//var/tmp/x,/Code/queue.c/pop",
	} {
		f, err := ParseFocus(text)
		if err != nil || f.String() != want {
			t.Errorf("%s: got %v, %v", text, f, err)
		}
	}
	for _, text := range []string{"/", " / ", "/Code", "/Code,/Process"} {
		if f, err := ParseFocus(text); err != nil || f != Whole() || f != (Focus{}) {
			t.Errorf("%q: got %v, %v; want the whole program", text, f, err)
		}
	}
}

func TestFocusErrors(t *testing.T) {
	tests := []struct {
		text            string
		column          int
		found, expected string
	}{
		{"", 1, "the end", "a path"},
		{"Code/x", 1, `'C'`, "a path"},
		{"/code/x", 2, `"code"`, "one of Code, Machine"},
		{"/Code/queue.c/pop,/Proces/srv", 20, `"Proces"`, "one of Code"},
		{"/Code/a,/Code/b", 10, "a second path below /Code", "at most one"},
		{"/Code//pop", 7, "'/'", "a name below /Code"},
		{"/Code/é/", 9, "the end", "a name below /Code"},
		{"/Code/x,", 9, "the end", "a path"},
		{"/Code,x", 6, "','", "'/'"},
		{"/IO/File/", 10, "the end", "a name below /IO"},
		{"//", 2, "'/'", "one of Code"},
		{strings.Repeat("/", maxFocusText+1), 1, "1048577 bytes", "at most 1048576"},
	}
	for _, tt := range tests {
		_, err := ParseFocus(tt.text)
		var fe *FocusError
		if !errors.As(err, &fe) {
			t.Errorf("%.40q: got %v, want a FocusError", tt.text, err)
			continue
		}
		if fe.Column != tt.column || fe.Found != tt.found || !strings.HasPrefix(fe.Expected, tt.expected) {
			t.Errorf("%.40q: got %v; want column %d, found %s, expected %s", tt.text, err, tt.column, tt.found, tt.expected)
		}
	}
	_, err := ParseFocus("/Code/x,/Proces/1")
	if got, want := err.(*FocusError).Caret(), "/Code/x,/Proces/1\n         ^"; got != want {
		t.Errorf("caret:\n%s\nwant\n%s", got, want)
	}
}

func TestParsePair(t *testing.T) {
	k, err := ParsePair("sync_wait@/Code/queue.c/pop@plt")
	if err != nil || k.Metric != "sync_wait" || k.Focus.Elements(Code)[1] != "pop@plt" {
		t.Fatalf("got %v, %v", k, err)
	}
	if back, err := ParsePair(k.String()); err != nil || back != k {
		t.Errorf("%v read back as %v, %v", k, back, err)
	}
	if k, err := ParsePair("cpu"); err != nil || k != (PairKey{Metric: "cpu"}) {
		t.Errorf("cpu: got %v, %v", k, err)
	}
	for _, bad := range []string{"", "@/", "cpu@", "cpu@x"} {
		if k, err := ParsePair(bad); err == nil {
			t.Errorf("%q was read as %v", bad, k)
		}
	}
}

func TestFocusCovers(t *testing.T) {
	tests := []struct {
		f, g string
		want bool
	}{
		{"/", "/Code/a/b", true},
		{"/Code/a", "/Code/a/b", true},
		{"/Code/a", "/Code/ab", false},
		{"/Code/a/b", "/Code/a", false},
		{"/Code/a,/Process/1", "/Code/a/b", false},
		{"/Code/a,/Process/1", "/Code/a/b,/Process/1/t", true},
		{"/IO/File", "/IO/File//a/b", true},
		{"/IO/File//a", "/IO/File//a/b", false},
		{"/Code/a", "/Code/a", true},
	}
	for _, tt := range tests {
		f, g := mustFocus(t, tt.f), mustFocus(t, tt.g)
		if got := f.Covers(g); got != tt.want {
			t.Errorf("%s covers %s: %v", tt.f, tt.g, got)
		}
	}
}

func TestFocusRefine(t *testing.T) {
	f := mustFocus(t, "/Code/a/b,/Process/1")
	if got := f.Refine(Code, "c").String(); got != "/Code/c,/Process/1" {
		t.Errorf("replaced: %s", got)
	}
	if got := f.Refine(Code).Refine(Process); got != Whole() {
		t.Errorf("both back to the root: %s", got)
	}
	if p, ok := f.Parent(Code); !ok || p.String() != "/Code/a,/Process/1" {
		t.Errorf("parent: %s, %v", p, ok)
	}
	if _, ok := f.Parent(IO); ok {
		t.Error("a root has a parent")
	}
	if f.Compare(f.Refine(Code)) <= 0 || f.Compare(f) != 0 || mustFocus(t, "/Code/a").Compare(mustFocus(t, "/Code/b")) >= 0 {
		t.Error("order is wrong")
	}
	m := map[Focus]int{f: 1}
	if m[mustFocus(t, "/Process/1,/Code/a/b")] != 1 {
		t.Error("equal foci are different keys")
	}
}

func TestFocusJSON(t *testing.T) {
	f := mustFocus(t, "/Code/cache.c/lookup,/IO/File//tmp/a%2C/Code")
	data, err := json.Marshal(f)
	if want := `{"Code":"/Code/cache.c/lookup","IO":"/IO/File//tmp/a%2C/Code"}`; err != nil || string(data) != want {
		t.Fatalf("got %s, %v; want %s", data, err, want)
	}
	var g Focus
	if err := json.Unmarshal(data, &g); err != nil || g != f {
		t.Errorf("read back as %s, %v", g, err)
	}
	if err := json.Unmarshal([]byte(`{}`), &g); err != nil || g != Whole() {
		t.Errorf("{} read as %s, %v", g, err)
	}
	for _, bad := range []map[string]string{
		{"Cod": "/Code/x"}, {"Code": "/Process/x"}, {"Code": "/Code/x,/Process/y"}, {"Code": ""},
	} {
		if g, err := FocusFromMap(bad); err == nil {
			t.Errorf("%v was read as %s", bad, g)
		}
	}
}

// TestFocusRoundTrip builds foci from names made of the characters that matter.
func TestFocusRoundTrip(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	bits := []string{"/", ",", "%", "2F", "2f", "2C", "25", "00", "Code", "IO", " ", "a", "é", "\xff", "\n", "{", "@"}
	name := func() string {
		var b strings.Builder
		for range rnd.IntN(7) {
			b.WriteString(bits[rnd.IntN(len(bits))])
		}
		return b.String()
	}
	for range 10_000 {
		var want [NumHierarchies][]string
		f := Whole()
		for h := range NumHierarchies {
			for range rnd.IntN(3) {
				want[h] = append(want[h], name())
			}
			f = f.Refine(h, want[h]...)
		}
		g, err := ParseFocus(f.String())
		if err != nil || g != f {
			t.Fatalf("%q -> %q -> %q, %v", want, f.String(), g.String(), err)
		}
		for h := range NumHierarchies {
			if got := g.Elements(h); !reflect.DeepEqual(got, want[h]) {
				t.Fatalf("%q -> %q -> %q", want[h], f.String(), got)
			}
		}
		if back, err := FocusFromMap(f.Map()); err != nil || back != f {
			t.Fatalf("%q by map: %q, %v", f.String(), back.String(), err)
		}
	}
}

// FuzzFocus checks that names survive the text form, and that any text is either refused or has a canonical form that
// stands for the same focus.
func FuzzFocus(f *testing.F) {
	for _, seed := range []string{"/Code/queue.c/pop,/Process/srv{4242}", "/IO/File//a%2C/Code", "/", "a,/Code", "%2525", "%00", ", ", "x%2F, /IO"} {
		f.Add(seed, seed, byte(0))
		f.Add(seed, "operator/(A, B)", byte(4))
	}
	f.Fuzz(func(t *testing.T, a, b string, h byte) {
		hier := Hierarchy(h) % NumHierarchies
		made := Whole().Refine(hier, a, b)
		if got := made.Elements(hier); len(got) != 2 || got[0] != a || got[1] != b {
			t.Fatalf("%q %q -> %s -> %q", a, b, made, got)
		}
		if len(made.String()) <= maxFocusText {
			if back, err := ParseFocus(made.String()); err != nil || back != made {
				t.Fatalf("%q %q -> %q -> %q, %v", a, b, made.String(), back.String(), err)
			}
		}
		g, err := ParseFocus(a)
		if err != nil {
			var fe *FocusError
			if !errors.As(err, &fe) || fe.Column < 1 {
				t.Fatalf("%q: error %v", a, err)
			}
			fe.Caret()
			return
		}
		if len(g.String()) > maxFocusText {
			return
		}
		if back, err := ParseFocus(g.String()); err != nil || back != g {
			t.Fatalf("%q -> %q -> %q, %v", a, g.String(), back.String(), err)
		}
		if !Whole().Covers(g) || !g.Covers(g) {
			t.Fatalf("%q does not cover itself", a)
		}
	})
}

func BenchmarkParseFocus(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseFocus("/Code/queue.c/pop,/Process/srv{4242}"); err != nil {
			b.Fatal(err)
		}
	}
}

func mustFocus(t testing.TB, text string) Focus {
	t.Helper()
	f, err := ParseFocus(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
