package waits

import (
	"fmt"

	"culprit/daemon/libc"
	"culprit/daemon/program"
)

// LockNamer names the locks of a program by its variables.
func LockNamer(p *program.Program) func(word uint64, k libc.Wait) (addr uint64, name string) {
	return func(word uint64, k libc.Wait) (uint64, string) { return NameLock(p, word, k) }
}

// NameLock finds the variable that holds the futex word, and the address of the lock in it. name is "" where no symbol covers it, and of what the
// C library has for itself: nobody knows its variables.
func NameLock(p *program.Program, word uint64, k libc.Wait) (addr uint64, name string) {
	if k.Kind == libc.Library {
		return word, ""
	}
	addr = lockAt(word, k)
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

// lockAt is the address of the lock of whose words one is waited for: locks are aligned as pointers are, where they are known at all.
func lockAt(word uint64, k libc.Wait) uint64 {
	for _, off := range k.Words {
		if (word-off)%8 == 0 {
			return word - off
		}
	}
	if len(k.Words) > 0 {
		return word - k.Words[0]
	}
	return word
}

// distinctName puts the object in front of a name that another object uses, too.
func distinctName(p *program.Program, obj *program.Object, name string, addr uint64) string {
	if at, ok := p.DataNamed(name); ok && at != addr {
		return obj.Name + ":" + name
	}
	return name
}
