package safetext

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	tests := []struct{ in, want string }{
		{"operator/(A const&, B)", "operator/(A const&, B)"},
		{`C:\x\"q"`, `C:\x\"q"`},
		{"a\x1b[31mred\x1b[0m", `a\x1b[31mred\x1b[0m`},
		{"\x1b]0;title\a", `\x1b]0;title\x07`},
		{"a\nb\tc\r\x00\x7f", `a\nb\tc\r\x00\x7f`},
		{"c1 \u009b31m", `c1 \u009b31m`},
		{"raw c1 \x9b31m", `raw c1 \x9b31m`},
		{"user\u202egnp.exe", `user\u202egnp.exe`},
		{"\u2066x\u2069\u200f\u061c", `\u2066x\u2069\u200f\u061c`},
		{"zero\u200bwidth\ufeff\u00ad", `zero\u200bwidth\ufeff\u00ad`},
		{"line\u2028sep\u2029", `line\u2028sep\u2029`},
		{"nbsp\u00a0\u3000", `nbsp\u00a0\u3000`},
		{"bad \xff\xc3( utf8 \xed\xa0\x80", `bad \xff\xc3( utf8 \xed\xa0\x80`},
		{"tag \U000e0041 private \ue000", `tag \U000e0041 private \ue000`},
		{"fillers \u3164\u115f\u2800", `fillers \u3164\u115f\u2800`},
		{"grüße, 世界 🙂 \ufffd", "grüße, 世界 🙂 \ufffd"},
		{"e\u0301", "e\u0301"},
		{"\u0301x", `\u0301x`},
		{"z" + strings.Repeat("\u0300", 6), "z\u0300\u0300\u0300\u0300" + `\u0300\u0300`},
		{"", ""},
	}
	for _, tt := range tests {
		if got := Clean(tt.in); got != tt.want {
			t.Errorf("Clean(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
	if n := testing.AllocsPerRun(10, func() { Clean("plain text") }); n != 0 {
		t.Errorf("%v allocations for plain text", n)
	}
}

func TestCleanMax(t *testing.T) {
	tests := []struct {
		in   string
		n    int
		want string
	}{
		{"abcdef", 6, "abcdef"},
		{"abcdef", 5, "abcd…"},
		{"abcdef", 1, "…"},
		{"abcdef", 0, ""},
		{"abcdef", -3, ""},
		{"世界世界", 8, "世界世界"},
		{"世界世界", 7, "世界世…"},
		{"世界世界", 6, "世界…"},
		{"a\x1bb", 6, `a\x1bb`},
		{"a\x1bbc", 6, `a\x1b…`},
		{"a\x1bbc", 4, "a…"},
		{"e\u0301e\u0301", 2, "e\u0301e\u0301"},
		{"e\u0301xy", 2, "e\u0301…"},
	}
	for _, tt := range tests {
		if got := CleanMax(tt.in, tt.n); got != tt.want {
			t.Errorf("CleanMax(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}

// TestCleanMaxLooksNoFurther: the cost is that of what is shown.
func TestCleanMaxLooksNoFurther(t *testing.T) {
	huge := strings.Repeat("\x1b", 16<<20)
	start := time.Now()
	CleanMax(huge, 40)
	if d := time.Since(start); d > 20*time.Millisecond { // all of it takes 300 ms
		t.Errorf("%v for 40 cells of 16 MiB", d)
	}
}

// TestCleanLines: lines stay lines, each is made harmless, and there is an end to them.
func TestCleanLines(t *testing.T) {
	for in, want := range map[string]string{"": "", "a\nb": "a\nb", "a\x1b\nabcdef": `a\x1b` + "\nabcd…", "1\n2\n3\n4": "1\n2\n3\n..."} {
		if got := CleanLines(in, 5, 3); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestWidth(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "世界": 4, "e\u0301": 1, "🙂": 2, "é": 1, "▁█⣿…": 4, "ｆ": 2, "\x1b": 4} {
		if got := Width(s); got != want {
			t.Errorf("Width(%q) = %d, want %d", s, got, want)
		}
	}
}

// FuzzClean checks what makes the result safe, whatever goes in.
func FuzzClean(f *testing.F) {
	for _, s := range []string{"a\x1b[0m", "\u202e", "\xff\xfe", "e\u0301\u0301\u0301\u0301\u0301", "世界"} {
		f.Add(s, 5)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		clean := Clean(s)
		if !utf8.ValidString(clean) {
			t.Fatalf("%q -> %q is not UTF-8", s, clean)
		}
		for _, r := range clean {
			if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Cs, unicode.Co, unicode.Zl, unicode.Zp) || r != ' ' && unicode.Is(unicode.Zs, r) {
				t.Fatalf("%q -> %q holds %U", s, clean, r)
			}
		}
		if again := Clean(clean); again != clean {
			t.Fatalf("%q -> %q -> %q", s, clean, again)
		}
		cut := CleanMax(s, n)
		if w := Width(cut); w > max(n, 0) {
			t.Fatalf("%q cut to %d is %q, %d cells", s, n, cut, w)
		}
		if Width(s) <= n && cut != clean {
			t.Fatalf("%q fits in %d but is cut to %q", s, n, cut)
		}
	})
}
