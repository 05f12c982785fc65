package pcl_test

import (
	"fmt"
	"regexp"
	"testing"
	"time"
	"unicode/utf8"

	"culprit/pcl"
	"culprit/pcl/internal/cases"
)

// matcherLimit is for half a million names, as many as a browser has functions: a list of ten patterns must not keep a target
// waiting for more than a few seconds.
const matcherLimit = 500 * time.Millisecond

func TestMatcher(t *testing.T) {
	for _, c := range []struct {
		pattern string
		regex   bool
		name    string
		want    bool
	}{
		{"pthread_*lock", false, "pthread_mutex_lock", true},
		{"pthread_*lock", false, "pthread_mutex_unlocked", false},
		{"pthread_*lock", false, "x_pthread_mutex_lock", false},
		{"std::vector<int>::*", false, "std::vector<int>::at(unsigned long)", true},
		{"a?c", false, "abc", true},
		{"a?c", false, "ac", false},
		{"a.c", false, "abc", false},
		{"*", false, "of\ntwo lines", true},
		{"lock", true, "pthread_mutex_lock_full", true},
		{"^tokio::.*poll$", true, "tokio::task::poll", true},
		{"^tokio::.*poll$", true, "tokio::task::polled", false},
		{"(", true, "(", false},
		{"", false, "", true},
		{"", false, "a", false},
		{"?", false, "ü", true},
		{"?", false, "\xff", true},
		{"*a*b*", false, "xaxxbx", true},
		{"*a*b", false, "xaxbxx", false},
		{"**", false, "", true},
	} {
		if got := pcl.Matcher(c.pattern, c.regex)(c.name); got != c.want {
			t.Errorf("%q (regex %v) and %q: %v, want %v", c.pattern, c.regex, c.name, got, c.want)
		}
	}
}

// FuzzGlob holds the matching of globs against a regular expression of the same meaning.
func FuzzGlob(f *testing.F) {
	for _, seed := range [][2]string{{"*a?b*", "xaxb"}, {"a**b", "ab"}, {"*é?", "aéü"}, {"?", "\xff"}, {"*ab", "aab"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, glob, name string) {
		if !utf8.ValidString(glob) {
			return // a regular expression cannot hold it
		}
		want := regexp.MustCompile("^(?s:" + pcl.GlobRegexp(glob) + ")$").MatchString(name)
		if got := pcl.Matcher(glob, false)(name); got != want {
			t.Errorf("%q and %q: %v, want %v", glob, name, got, want)
		}
	})
}

// TestMatcherSpeed: a pattern is prepared once, not for each name.
func TestMatcherSpeed(t *testing.T) {
	names := make([]string, 500_000)
	for i := range names {
		names[i] = fmt.Sprintf("blink::Document::update%d(int, char const*)", i)
	}
	found := 0
	took := cases.Quickest(t, func() {
		match := pcl.Matcher("*update99*", false)
		for _, n := range names {
			if match(n) {
				found++
			}
		}
	})
	t.Logf("%d names: %v, %d found", len(names), took, found/7)
	if took > matcherLimit || found/7 != 1111 {
		t.Errorf("want at most %v, and 1111 found", matcherLimit)
	}
}
