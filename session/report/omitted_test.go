package report

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestOmittedAreDocumented: docs/output.md names each field that is left out where there is nothing to tell, and no other as such.
func TestOmittedAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/output.md")
	if err != nil {
		t.Fatal(err)
	}
	_, said, ok := strings.Cut(string(text), "\nLeft out where ")
	if !ok {
		t.Fatal("docs/output.md does not say which fields are left out")
	}
	said, _, _ = strings.Cut(said, "\n\n")
	want := map[string]bool{}
	omitted(reflect.TypeFor[Report](), map[reflect.Type]bool{}, want)
	for name := range want {
		if !strings.Contains(said, "`"+name+"`") {
			t.Errorf("%s is left out where it is empty, and the text does not say so", name)
		}
	}
	for i, name := range strings.Split(said, "`") {
		if i%2 == 1 && !want[name] {
			t.Errorf("%s is said to be left out, and is not", name)
		}
	}
	if len(want) < 20 {
		t.Errorf("found %d fields", len(want))
	}
}

// omitted collects the fields of a type, and of those within, that are left out where they are empty.
func omitted(of reflect.Type, seen map[reflect.Type]bool, names map[string]bool) {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		omitted(of.Elem(), seen, names)
	case reflect.Struct:
		if seen[of] {
			return
		}
		seen[of] = true
		for i := range of.NumField() {
			name, options, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if options == "omitempty" {
				names[name] = true
			}
			omitted(of.Field(i).Type, seen, names)
		}
	}
}

// TestListsAreNeverNull: where there is a job or an idle place to tell of, its lists are there.
func TestListsAreNeverNull(t *testing.T) {
	r := &Report{Jobs: []Job{{Sentence: "s"}}, Idle: &Idle{Share: 1}}
	b, err := r.Line()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"ranks":[]`, `"waiting":[]`, `"awaited":[]`, `"places":[]`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("lacks %s: %s", want, b)
		}
	}
}
