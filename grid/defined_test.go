package grid

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestItemText(t *testing.T) {
	for _, tt := range []struct{ text, hierarchy, item, canonical string }{
		{"/Subsystem/parser", "Subsystem", "parser", "/Subsystem/parser"},
		{"/Subsystem/array A[1, 2]", "Subsystem", "array A[1, 2]", "/Subsystem/array A[1, 2]"},
		{"/Subsystem/net%2Fhttp", "Subsystem", "net/http", "/Subsystem/net%2Fhttp"},
		{"/Subsystem/parser,/SyncObject/Mutex/m", "Subsystem", "parser", "/SyncObject/Mutex/m,/Subsystem/parser"},
		{"/IO/File//tmp/x, /Layer/low", "Layer", "low", "/IO/File//tmp/x,/Layer/low"},
	} {
		f, err := ParseFocus(tt.text, "Subsystem", "Layer")
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		h, i, ok := f.Item()
		if !ok || h != tt.hierarchy || i != tt.item || f.String() != tt.canonical || f.Depth(Defined) != 2 {
			t.Errorf("%s: %q %q %v, written %s", tt.text, h, i, ok, f)
		}
		if back, err := ParseFocus(f.String(), "Subsystem", "Layer"); err != nil || back != f {
			t.Errorf("%s read back as %s, %v", f, back, err)
		}
		if back, err := FocusFromMap(f.Map(), "Layer", "Subsystem"); err != nil || back != f {
			t.Errorf("%v read back as %s, %v", f.Map(), back, err)
		}
		if g := f.WithoutItem(); g.Depth(Defined) != 0 || g.WithItem(h, i) != f || !g.Covers(f) || f.Covers(g) {
			t.Errorf("%s without its item is %s", f, g)
		}
	}
}

func TestItemJSON(t *testing.T) {
	f := Whole().WithItem("Subsystem", "a/b").Refine(Process, "srv{1}")
	data, err := json.Marshal(f)
	if want := `{"Process":"/Process/srv{1}","Subsystem":"/Subsystem/a%2Fb"}`; err != nil || string(data) != want {
		t.Fatalf("got %s, %v; want %s", data, err, want)
	}
	var g, k Focus
	if err := json.Unmarshal(data, &g); err != nil || g != f {
		t.Errorf("read back as %s, %v", g, err)
	}
	if err := k.UnmarshalText([]byte(f.String())); err != nil || k != f {
		t.Errorf("text read back as %s, %v", k, err)
	}
	for _, bad := range []map[string]string{
		{"Subsystem": "/Layer/x"}, {"Subsystem": "/Subsystem/x", "Layer": "/Layer/y"}, {"Other": "/Other/x"}, {"Subsystem": "/Code/x"},
	} {
		if g, err := FocusFromMap(bad, "Subsystem", "Layer"); err == nil {
			t.Errorf("%v was read as %s", bad, g)
		}
	}
}

func TestItemErrors(t *testing.T) {
	for _, tt := range []struct {
		text     string
		column   int
		expected string
	}{
		{"/Subsytem/x", 2, "one of Code, Machine, Process, SyncObject, IO, Memory, Subsystem, Layer"},
		{"/Subsystem", 11, "an item of it, as in /Subsystem/NAME"},
		{"/Subsystem/", 12, "the name of an item"},
		{"/Subsystem/a/b", 13, "the end of the path"},
		{"/Subsystem/a,/Layer/b", 15, "at most one of them"},
		{"/Subsystem/a,/Subsystem/b", 15, "at most one of them"},
	} {
		_, err := ParseFocus(tt.text, "Subsystem", "Layer")
		var fe *FocusError
		if !errors.As(err, &fe) || fe.Column != tt.column || !strings.HasPrefix(fe.Expected, tt.expected) {
			t.Errorf("%s: got %v; want column %d, expected %s", tt.text, err, tt.column, tt.expected)
		}
	}
	if _, err := ParseFocus("/Subsystem/a"); err == nil || strings.Contains(err.Error(), "Layer") {
		t.Errorf("a hierarchy that was not named: %v", err)
	}
}

// FuzzItem checks that names of items survive the text form beside any other part, and that any text that is read with defined
// hierarchies has a canonical form that stands for the same focus.
func FuzzItem(f *testing.F) {
	for _, seed := range []string{"parser", "a/b", "x,", "%2F", "", "a, /Code/x", "/Subsystem/y"} {
		f.Add(seed, "/IO/File//tmp/a,/Subsystem/"+seed)
		f.Add("x", "/Layer/"+seed+",/Code/m.c/f")
	}
	f.Fuzz(func(t *testing.T, item, text string) {
		made := Whole().WithItem("Subsystem", item).Refine(Code, item, item)
		if h, got, ok := made.Item(); !ok || h != "Subsystem" || got != item {
			t.Fatalf("%q -> %s -> %q %q", item, made, h, got)
		}
		if len(made.String()) > maxFocusText {
			return
		}
		if back, err := ParseFocus(made.String(), "Layer", "Subsystem"); err != nil || back != made {
			t.Fatalf("%q -> %q -> %q, %v", item, made.String(), back.String(), err)
		}
		g, err := ParseFocus(text, "Layer", "Subsystem")
		if err != nil || len(g.String()) > maxFocusText {
			return
		}
		if back, err := ParseFocus(g.String(), "Layer", "Subsystem"); err != nil || back != g || !g.Covers(g) {
			t.Fatalf("%q -> %q -> %q, %v", text, g.String(), back.String(), err)
		}
	})
}
