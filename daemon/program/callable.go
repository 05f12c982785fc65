package program

import (
	"fmt"
	"slices"
	"strings"

	"culprit/daemon/libc"
	"culprit/pcl"
)

// Callable implements pcl.Env: a probe calls a function as C code would. What is refused as a place for probes for what it is (a
// resolver, setjmp, clone ...) must not be called either, and Go code has another way of calling.
func (p *Program) Callable(name string) (pcl.FuncID, error) {
	ids := p.callables(name)
	switch {
	case len(ids) == 0:
		return 0, p.noCallable(name)
	case len(ids) > 1:
		return 0, fmt.Errorf("the target has %d functions of the name %q: it cannot be told which one is meant", len(ids), name)
	}
	f := p.funcs[ids[0]]
	switch {
	case f.Fn.Refuse != "":
		return 0, fmt.Errorf("%s cannot be called: %s", name, f.Fn.Refuse)
	case p.Main().IsGo():
		return 0, fmt.Errorf("%s cannot be called: the target is a Go program, whose stacks are too small for other code", name)
	}
	return ids[0], nil
}

// noCallable says that there is no function of a name, and which there are.
func (p *Program) noCallable(name string) error {
	near := p.similar(name)
	if len(near) == 0 {
		return fmt.Errorf("the target has no function %q that could be called", name)
	}
	return fmt.Errorf("the target has no function %q that could be called; nearest: %s", name, strings.Join(near, ", "))
}

// callables are the functions of a name without those of the dynamic loader, which has its own of what the C library has.
func (p *Program) callables(name string) []pcl.FuncID {
	return slices.DeleteFunc(p.Named(name), func(id pcl.FuncID) bool { return libc.IsLoader(p.funcs[id].Obj.Name) })
}
