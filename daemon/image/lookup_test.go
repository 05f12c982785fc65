package image

import (
	"slices"
	"testing"

	"culprit/internal/testprog"
)

// TestNamedWithoutTable: what is found by name before the functions are listed is what is found afterwards, and that something is not there
// is known without listing them.
func TestNamedWithoutTable(t *testing.T) {
	for _, path := range []string{testprog.BuildSource(t, testprog.SwitchC, "-O2", "-g"), testprog.LibcPath, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"} {
		all, fresh := openFile(t, path, "object"), openFile(t, path, "object")
		if fresh.Named("no_such_function") != nil || fresh.InModule("no_such_module.c", "no_such_function") != nil || fresh.table.Done() {
			t.Errorf("%s: functions were listed for what is not there", path)
		}
		seen := 0
		for i, f := range all.Functions() {
			if i%50 != 0 && i > 200 {
				continue
			}
			for _, name := range append([]string{f.Name, f.Linkage}, f.Aliases...) {
				if name == "" {
					continue
				}
				seen++
				if f.Named && isLinkage(name) && !fresh.symbolNames().defined.has(name) {
					t.Errorf("%s: %q is not among the symbols' names", path, name)
				}
				if got := fresh.InModule(f.Module, name); !slices.ContainsFunc(got, func(g *Function) bool { return g.Addr == f.Addr }) {
					t.Errorf("%s: %q of %q is at %#x, found %d", path, name, f.Module, f.Addr, len(got))
				}
			}
		}
		if seen < 10 || !fresh.HasNames() {
			t.Errorf("%s: %d names", path, seen)
		}
	}
}

// TestModules: each function belongs to one of them.
func TestModules(t *testing.T) {
	for _, path := range []string{testprog.BuildSource(t, testprog.SwitchC, "-O2", "-g"), testprog.BuildSource(t, testprog.SwitchC, "-O2")} {
		o := openFile(t, path, "object")
		n := 0
		for _, m := range o.Modules() {
			fns := o.ModuleFunctions(m)
			if len(fns) == 0 || slices.ContainsFunc(fns, func(f *Function) bool { return f.Module != m }) {
				t.Errorf("%q has %d functions, or some of others", m, len(fns))
			}
			n += len(fns)
		}
		if n != len(o.Functions()) || o.ModuleFunctions("elsewhere.c") != nil {
			t.Errorf("%q have %d of %d functions", o.Modules(), n, len(o.Functions()))
		}
	}
}
