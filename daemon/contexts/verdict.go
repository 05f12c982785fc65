package contexts

import (
	"culprit/daemon/image"
	"culprit/daemon/libc"
	"culprit/daemon/program"
)

// What handlers do, by their code. It is not looked at in a stop.

// verdicts are which handlers may leave for another context.
type verdicts struct {
	version  int // of the program, then
	exchange map[handler]bool
}

// verdict is what was found out about a handler, if that was done.
func (c *Contexts) verdict(h handler) (exchange, ok bool) {
	if c.verdicts.version != c.cfg.Code.Version() {
		return false, false
	}
	exchange, ok = c.verdicts.exchange[h]
	return exchange, ok
}

// unjudged says that a stop has shown handlers whose code nobody has looked at yet.
type unjudged struct {
	c    *Contexts
	list []handler
}

// Error says so.
func (e *unjudged) Error() string {
	return "deferred: the code of the program's signal handlers has to be read first; all threads were resumed: try again"
}

// Make looks at their code.
func (e *unjudged) Make() {
	v := verdicts{e.c.cfg.Code.Version(), map[handler]bool{}}
	for _, h := range e.list {
		v.exchange[h] = e.c.mayExchange([]handler{h})
	}
	e.c.verdicts = v
}

// MaySwitch reports whether an object other than the C library has or imports a function that leaves for another stack.
func (c *Contexts) MaySwitch() bool {
	for _, o := range c.cfg.Code.Objects() {
		if !libc.IsC(o.Name) && o.MentionsSwitch() {
			return true
		}
	}
	return false
}

// saSiginfo is SA_SIGINFO: the handler is given the registers of what it interrupted.
const saSiginfo = 4

// mayExchange reports whether one of the handlers may leave for another context in a way that has no name: all but those do that call nothing,
// end by returning only, and are not given the registers.
func (c *Contexts) mayExchange(list []handler) bool {
	for _, h := range list {
		f := c.cfg.Code.FunctionAt(h.addr)
		if f == nil || h.flags&saSiginfo != 0 {
			return true
		}
		w := f.Flow()
		if w == nil || w.Hidden != "" || len(w.Calls) > 0 || len(w.Exits) == 0 {
			return true
		}
		for _, x := range w.Exits {
			if x.Kind != image.ExitRet {
				return true
			}
		}
	}
	return false
}

// mostFromHandler bounds how many functions are looked at to find out where a handler leads.
const mostFromHandler = 256

// leadsToSwitch reports whether direct calls lead from a function to one that leaves for another stack. The code of the libraries that a handler calls
// is not read where no object could call such a function, and never in whole.
func (c *Contexts) leadsToSwitch(f *program.Function) bool {
	if !c.MaySwitch() {
		return false
	}
	seen := map[*program.Function]bool{f: true}
	for todo := []*program.Function{f}; len(todo) > 0 && len(seen) < mostFromHandler; todo = todo[1:] {
		f := todo[0]
		if f.Fn.Switches() {
			return true
		}
		if f.Fn.Refuse != "" {
			continue
		}
		calls, exits := f.Obj.Callees(f.Fn)
		next := make([]*program.Function, 0, len(calls)+len(exits))
		for _, call := range calls {
			if image.IsSwitcher(call.Import) {
				return true
			}
			next = append(next, c.cfg.Code.Callee(f.Obj, call))
		}
		for _, x := range exits {
			if x.Kind != image.ExitRet {
				next = append(next, c.cfg.Code.TailCallee(f.Obj, x))
			}
		}
		for _, g := range next {
			if g != nil && !seen[g] {
				seen[g] = true
				todo = append(todo, g)
			}
		}
	}
	return false
}
