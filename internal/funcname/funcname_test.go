package funcname

import "testing"

func TestAsWritten(t *testing.T) {
	for name, want := range map[string]string{
		"f": "f", "f.constprop.0.isra.0": "f", "f(int) [clone .isra.0]": "f(int)", "f(int) [clone .part.0] [clone .cold]": "f(int)",
		"main.cold": "main.cold", "g.partial": "g.partial", "": "",
	} {
		if got := AsWritten(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

func TestBrief(t *testing.T) {
	for name, want := range map[string]string{
		"a.c/f": "a.c/f", "a.c/f.constprop.0": "a.c/f", "a.cc/f(int)": "a.cc/f", "a.cc/f(int) [clone .isra.0]": "a.cc/f",
		"a.cc/(anonymous namespace)::f(int)": "a.cc/(anonymous namespace)::f", "a.cc/A<int (*)(char)>::g(int) const": "a.cc/A<int (*)(char)>::g",
		"a.cc/A::operator()(int)": "a.cc/A::operator()", "m/(*T).Get": "m/(*T).Get", "m/pkg.(*T).Get": "m/pkg.(*T).Get",
	} {
		if got := Brief(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}
