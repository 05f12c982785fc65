package explain

import "testing"

// TestOthers: the object that has all of the time is named in the sentence itself, and each of the others once, three at most. Where it is not known how
// much a part has, it is left out.
func TestOthers(t *testing.T) {
	for name, c := range map[string]struct {
		own          string
		parts        []Part
		object, rest string
	}{
		"nothing":              {},
		"all of it":            {"", []Part{{Object: "file a", Value: "90 %", All: true}}, "file a", ""},
		"its own":              {"file a", []Part{{Object: "file a", Value: "90 %", All: true}}, "", ""},
		"a thread has all":     {"", []Part{{Thread: "thread x", Value: "90 %", All: true}}, "", "Nearly all of it in thread x"},
		"one after the other":  {"", []Part{{Thread: "process x", Value: "95 %", All: true}, {Thread: "process y", Value: "93 %", All: true}}, "", "Nearly all of it in process x and process y"},
		"one thread twice":     {"", []Part{{Thread: "thread x", Value: "95 %", All: true}, {Thread: "thread x", Value: "93 %", All: true}}, "", "Nearly all of it in thread x"},
		"a thread has some":    {"", []Part{{Thread: "thread x", Value: "30 %"}}, "", "30 % in thread x"},
		"functions":            {"lock l", []Part{{Code: "put", Value: "40 %"}, {Code: "take", Value: "41 %"}}, "", "40 % in put, 41 % in take"},
		"a file made anew":     {"", []Part{{Object: "file a", Value: "40 %"}, {Object: "file a", Value: "38 %"}}, "", "40 % for file a"},
		"many":                 {"", []Part{{Object: "a", Value: "1 %"}, {Object: "b", Value: "2 %"}, {Object: "c", Value: "3 %"}, {Object: "d", Value: "4 %"}, {Object: "e", Value: "5 %"}}, "", "1 % for a, 2 % for b, 3 % for c, 2 more"},
		"another quantity":     {"", []Part{{Object: "file a"}, {Thread: "thread x"}}, "", ""},
		"all, and some of one": {"", []Part{{Object: "a", Value: "90 %", All: true}, {Object: "b", Value: "85 %", All: true}}, "a", "85 % for b"},
	} {
		if object, rest := Others(c.own, c.parts); object != c.object || rest != c.rest {
			t.Errorf("%s: %q, %q; want %q, %q", name, object, rest, c.object, c.rest)
		}
	}
}
