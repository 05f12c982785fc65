package trampoline

import "testing"

func TestShortPath(t *testing.T) {
	for path, want := range map[string]string{"/a/b": "/a/b", "//a///b": "/a/b", "/a/./b": "/a/b", "/././a": "/a", "./a": "a", ".//./a": "a", "a": "a", "/": "/", "//": "/",
		"../a": "../a", "a/../b": "a/../b", ".a/b.": ".a/b.", "a/./.": "a/.", "a/./": "a/", "": "", ".": ".", "./": "", "/.": "/."} {
		if got := shortPath(path); got != want {
			t.Errorf("%q is %q, want %q", path, got, want)
		}
	}
}
