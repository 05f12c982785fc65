package require

import (
	"strings"
	"testing"
)

// recorder stands in for a test that is about to be ended.
type recorder struct {
	testing.TB
	skipped, failed string
}

func (r *recorder) Helper() {}
func (r *recorder) Skip(args ...any) {
	r.skipped = args[0].(string)
	panic(r)
}
func (r *recorder) Fatalf(format string, args ...any) {
	r.failed = format
	for _, a := range args {
		r.failed += " " + a.(string)
	}
	panic(r)
}

func ended(f func(t testing.TB)) (r *recorder) {
	r = &recorder{}
	defer func() {
		if p := recover(); p != nil && p != any(r) {
			panic(p)
		}
	}()
	f(r)
	return r
}

func TestMissingToolSkips(t *testing.T) {
	t.Setenv(AllVariable, "")
	r := ended(func(t testing.TB) { Tool(t, "no-such-tool-anywhere") })
	if !strings.Contains(r.skipped, "no-such-tool-anywhere") || r.failed != "" {
		t.Fatalf("skipped %q, failed %q", r.skipped, r.failed)
	}
}

func TestMissingToolFailsWhereAllMustBePresent(t *testing.T) {
	t.Setenv(AllVariable, "1")
	r := ended(func(t testing.TB) { Tool(t, "no-such-tool-anywhere") })
	if !strings.Contains(r.failed, "no-such-tool-anywhere") || r.skipped != "" {
		t.Fatalf("skipped %q, failed %q", r.skipped, r.failed)
	}
}

func TestPresentToolGoesOn(t *testing.T) {
	t.Setenv(AllVariable, "1")
	r := ended(func(t testing.TB) {
		if Tool(t, "sh") == "" {
			t.Fatalf("no path for %s", "sh")
		}
		That(t, true, "never")
	})
	if r.skipped != "" || r.failed != "" {
		t.Fatalf("skipped %q, failed %q", r.skipped, r.failed)
	}
}

func TestObjects(t *testing.T) {
	for _, name := range []string{"libc.so.6", "libc.so.?", "sh"} {
		if p := Object(t, name); !strings.HasPrefix(p, "/") {
			t.Errorf("%s: %q", name, p)
		}
	}
	t.Setenv(AllVariable, "1")
	r := ended(func(t testing.TB) { Object(t, "no-such-object.so.1") })
	if !strings.Contains(r.failed, "no-such-object.so.1") || r.skipped != "" {
		t.Fatalf("skipped %q, failed %q", r.skipped, r.failed)
	}
}

func TestLongIsAChoice(t *testing.T) {
	t.Setenv(AllVariable, "1")
	t.Setenv("CULPRIT_LONG", "")
	r := ended(func(t testing.TB) { Long(t) })
	if r.failed != "" || !strings.Contains(r.skipped, "make long") {
		t.Fatalf("skipped %q, failed %q", r.skipped, r.failed)
	}
}
