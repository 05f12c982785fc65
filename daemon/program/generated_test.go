package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"culprit/pcl"
)

// A saying is a program that names generated code in a file.
type saying struct {
	running
	path string
}

func (s saying) OpenGenerated() (*os.File, error) { return os.Open(s.path) }

// says makes a program that names generated code as text says; add writes more.
func says(t *testing.T, text string) (p *Program, add func(string), told *string) {
	t.Helper()
	told = new(string)
	path := filepath.Join(t.TempDir(), "perf.map")
	p = &Program{source: saying{running(os.Getpid()), path}, funcs: map[pcl.FuncID]*Function{}, log: func(text string) { *told += text }}
	add = func(text string) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
			f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	add(text)
	return p, add, told
}

// at names the function at an address, "" if none is known.
func (p *Program) at(addr uint64) string {
	f := p.FunctionAt(addr)
	if f == nil {
		return ""
	}
	return f.Fn.Module + "/" + f.Fn.Name
}

// TestGenerated: functions that are compiled again are the same, what lies where another one was is the other one, and what is not
// written to its end is read later.
func TestGenerated(t *testing.T) {
	p, add, _ := says(t, "1000 100 JS:~hot /srv/app.js:3:5\n1100 80 JS:~cold /srv/app.js:9:1\n20")
	if p.ReadGenerated() {
		t.Error("it was read before there was a need to")
	}
	if got := p.at(0x1080); got != "" || !p.ReadGenerated() || p.ReadGenerated() {
		t.Errorf("before it was read it is %q", got)
	}
	check := func(want map[uint64]string) {
		t.Helper()
		for addr, name := range want {
			if got := p.at(addr); got != name {
				t.Errorf("at %#x is %q, want %q", addr, got, name)
			}
		}
	}
	check(map[uint64]string{0xfff: "", 0x1000: "app.js/hot", 0x10ff: "app.js/hot", 0x1100: "app.js/cold", 0x117f: "app.js/cold", 0x1180: "", 0x2000: ""})
	hot := p.FunctionAt(0x1000)
	add("00 10 JS:*hot /srv/app.js:3:5\n1040 20 Ljava/util/HashMap;::get\n")
	p.ReadGenerated()
	check(map[uint64]string{0x1000: "app.js/hot", 0x1040: "java.util.HashMap/get", 0x105f: "java.util.HashMap/get", 0x1060: "app.js/hot", 0x2000: "app.js/hot"})
	if again := p.FunctionAt(0x2000); again != hot || !hot.Generated() || hot.Flow() != nil || hot.IsGo() {
		t.Errorf("compiled again it is %+v, it was %+v", again, hot)
	}
	if ids := p.Function("app.js", "hot"); len(ids) != 1 || ids[0] != hot.ID || len(p.Named("hot")) != 0 || !p.HasModule("app.js") || len(p.ModuleFunctions("app.js")) != 2 {
		t.Errorf("its name leads to %v, the name alone to %v", ids, p.Named("hot"))
	}
	add("1000 180 later\n")
	p.ReadGenerated()
	check(map[uint64]string{0x1000: "generated code/later", 0x1040: "generated code/later", 0x1100: "generated code/later"})
}

// TestGeneratedNames: what the usual programs write.
func TestGeneratedNames(t *testing.T) {
	for text, want := range map[string]Name{
		"JS:*handle /srv/app/server.js:120:18":                     {"server.js", "handle"},
		"JS:~hot [eval]:1:13":                                      {"[eval]", "hot"},
		"LazyCompile:~ /srv/a b.js:7:1":                            {"a b.js", "anonymous:7"},
		"JS:^get file:///srv/x.mjs:1:1":                            {"x.mjs", "get"},
		"JS:+runNextTicks node:internal/process/task_queues:59:25": {"task_queues", "runNextTicks"},
		"Builtin:ArrayMap":                                         {generatedModule, "Builtin:ArrayMap"},
		"int com.example.Shop.total(java.util.List)":               {"com.example.Shop", "total"},
		"void com.example.Shop$1.run()":                            {"com.example.Shop$1", "run"},
		"com.example.Shop.<init>(int, int)":                        {"com.example.Shop", "<init>"},
		"Lcom/example/Shop;::total":                                {"com.example.Shop", "total"},
		"Interpreter":                                              {generatedModule, "Interpreter"},
		"instance void [app] Program::Main(string[])[Tier0]":       {generatedModule, "instance void [app] Program::Main(string[])[Tier0]"},
	} {
		got := generatedName(text)
		if got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// TestHostileGenerated: whatever is written there takes little, and is no name of anything else.
func TestHostileGenerated(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":            "\n\n\n",
		"no numbers":         "x y z\n-1 5 f\n1000 g f\n1000 10\n 1000 10 f\n",
		"beyond the end":     "fffffffffffffff0 100 f\n1000 ffffffffffffffff f\n",
		"a line without end": strings.Repeat("x", 1<<20),
		"zeros":              string(make([]byte, 1<<16)),
	} {
		p, _, _ := says(t, text)
		p.at(0x1008)
		p.ReadGenerated()
		if got := p.at(0x1008); got != "" || p.Generates() {
			t.Errorf("%s: %q", name, got)
		}
	}
	p, add, told := says(t, "0 ffffffffffffffff \xff\x1b[31mall\n")
	p.at(1)
	if p.ReadGenerated(); p.at(1) != generatedModule+"/\uFFFD\x1b[31mall" {
		t.Errorf("%q", p.at(1))
	}
	var many strings.Builder
	for i := range maxGenerated + 1000 {
		fmt.Fprintf(&many, "%x 10 f%d\n", 0x100000+16*i, i)
	}
	add(many.String())
	for range 10 {
		p.ReadGenerated()
	}
	if len(p.generated.list) != maxGenerated || !strings.Contains(*told, "not all names of generated code are known") {
		t.Errorf("%d places are kept; told %q", len(p.generated.list), *told)
	}
	if got := p.at(0x100008); got != generatedModule+"/f0" {
		t.Errorf("%q", got)
	}
}

// FuzzGenerated feeds arbitrary lines, and holds what is found against a search through all of them.
func FuzzGenerated(f *testing.F) {
	f.Add([]byte("1000 100 a\n1010 20 b\n1000 50 c\n"), uint64(0x1018))
	f.Fuzz(func(t *testing.T, text []byte, addr uint64) {
		var g generated
		half := len(text) / 2
		for half < len(text) && half > 0 && text[half-1] != '\n' {
			half++
		}
		g.add(text[:half])
		g.add(text[half:])
		places := map[uint64]place{}
		for _, l := range strings.SplitAfter(string(text), "\n") {
			if p, ok := parsePlace(strings.TrimSuffix(l, "\n")); ok {
				places[p.lo] = p
			}
		}
		if len(places) > maxOverlap || strings.Count(string(text), "\n") > maxOverlap {
			return
		}
		if got := g.nameAt(addr); got != "" {
			found := false
			for _, p := range places {
				found = found || p.name == got && addr >= p.lo && addr < p.hi
			}
			if !found {
				t.Errorf("%q is not at %#x", got, addr)
			}
		} else {
			for _, p := range places {
				if addr >= p.lo && addr < p.hi {
					t.Errorf("%q is at %#x, and nothing was found", p.name, addr)
				}
			}
		}
	})
}
