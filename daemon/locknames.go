package daemon

import (
	"fmt"

	"culprit/daemon/image/unwind"
	"culprit/daemon/libc"
	"culprit/daemon/program"
	"culprit/daemon/stack"
)

// Names of locks: by the variable that they are or lie in ("cache.lock", "shards[3]"), or by who holds them on the heap or a stack.

// lockNamer names the locks of a program by its variables.
func lockNamer(p *program.Program) func(word uint64, k libc.Wait) (addr uint64, name string) {
	return func(word uint64, k libc.Wait) (uint64, string) { return nameLock(p, word, k) }
}

// nameLock finds the variable that holds the futex word, and the address of the lock in it. name is "" where no symbol covers it.
func nameLock(p *program.Program, word uint64, k libc.Wait) (addr uint64, name string) {
	addr = word
	if len(k.Words) > 0 {
		addr = word - k.Words[0]
	}
	obj := p.DataAt(word)
	if obj == nil {
		return addr, ""
	}
	for _, off := range k.Words {
		of, ok := obj.PartAt(word - off - obj.Bias)
		if ok && (of.Rest == 0 || of.Lock && k.Kind == libc.Futex) {
			return word - off, distinctName(p, obj, of.Name, word-off-of.Rest)
		}
	}
	of, ok := obj.PartAt(word - obj.Bias)
	if !ok {
		return addr, ""
	}
	return addr, fmt.Sprintf("%s+%#x", of.Name, of.Rest)
}

// distinctName puts the object in front of a name that another object uses, too.
func distinctName(p *program.Program, obj *program.Object, name string, addr uint64) string {
	if at, ok := p.DataNamed(name); ok && at != addr {
		return obj.Name + ":" + name
	}
	return name
}

// holders is how many activations are asked for a variable that leads to a lock.
const holders = 24

// heldBy names a lock by the variables of the functions that wait for it: the type and field of an object on the heap with the
// address, which tells one from another ("Queue.lock 0x55d0"), or a variable on a stack. "" if DWARF does not tell.
func (t *measured) heldBy(addr uint64, st blockedStack) (name string) {
	left := holders
	t.walker().WalkEach(st.regs, st.mem, func(fr stack.Frame, regs unwind.Regs) bool {
		if fr.Func == nil || fr.CFA == 0 {
			return true
		}
		a := unwind.Activation{Regs: regs, CFA: fr.CFA, Bias: fr.Func.Obj.Bias, Mem: st.mem}
		n, heap, ok := fr.Func.Obj.Enclosing(fr.Func.Fn, a, addr)
		if ok && heap {
			n = fmt.Sprintf("%s %#x", n, addr)
		}
		if name = n; !ok {
			name = ""
		}
		left--
		return !ok && left > 0
	})
	return name
}
