package image

import (
	"culprit/daemon/image/debuginfo"
	"culprit/daemon/image/types"
	"culprit/daemon/image/unwind"
)

// What the debug information says, for functions of the object.

// described is a function as package types wants it.
func (f *Function) described() types.Func {
	return types.Func{Name: f.Name, Linkage: f.Linkage, Addr: f.Addr}
}

// Argument finds an argument of a function, or what it leads to. The error is *ErrNoTypes, *ErrNoSuch, or says why it cannot be
// read. DWARF is read as far as the question needs it.
func (o *Object) Argument(f *Function, path types.ArgPath) (types.ArgPlace, error) {
	return o.types.Argument(f.described(), path)
}

// Result says which bytes of rax are what a function returns: its Offset is 0. The error is *ErrNoTypes, *ErrNoValue, or says why it is not
// known.
func (o *Object) Result(f *Function) (types.ArgLoad, error) { return o.types.Result(f.described()) }

// Enclosing names what lies at an address of the process by the variables and parameters of a function on the stack: see types.Info.Enclosing.
func (o *Object) Enclosing(f *Function, a unwind.Activation, addr uint64) (name string, heap, ok bool) {
	return o.types.Enclosing(f.described(), a, addr)
}

// Line gives the source position of the code at vaddr; ok is false where DWARF does not say. For a return address ask for the
// byte before it. The line table of a compile unit is read at the first question about it.
func (o *Object) Line(vaddr uint64) (file string, line int, ok bool) { return o.dwarf.Line(vaddr) }

// Start is Line of the code that a function begins with.
func (o *Object) Start(vaddr uint64) (file string, line int, ok bool) { return o.dwarf.Start(vaddr) }

// LineAddrs gives the lowest address that the compiler recommends for breakpoints of a source line in every function that has code of it:
// see debuginfo.Info.LineAddrs.
func (o *Object) LineAddrs(file string, line int) Addresses {
	return o.dwarf.LineAddrs(file, line, func(addr uint64) (uint64, bool) {
		f := o.FunctionAt(addr)
		if f == nil {
			return 0, false
		}
		return f.Addr, true
	})
}

// Inlined tells whether DWARF describes a function that a name may mean and that has no code of its own, and in how many places its code
// stands in other functions (0: nothing calls it). A program whose DWARF holds very many entries is looked through in part.
func (o *Object) Inlined(name string) (places int, ok bool) {
	q := asked(rustHash.ReplaceAllString(name, ""))
	return o.dwarf.Inlined(debuginfo.Query{
		Word:    q.word,
		Linkage: func(linkage string) bool { _, _, ok := q.fits(linkage); return ok },
		Name:    func(name string) bool { return name == q.text || endsIn(q.text, name) },
	})
}

// InlinedToo is in how many places of other functions the code of a function stands besides its own, as far as DWARF tells: calls from there
// do not come by its entry. The first question reads the entries of all units, as far as Inlined does; what it found is kept.
func (o *Object) InlinedToo(f *Function) int {
	return o.dwarf.InlinedToo(f.Addr, copies.ReplaceAllString(f.Linkage, ""))
}

// Unwind makes one step from the frame with registers r to its caller: see unwind.Table.Unwind.
func (o *Object) Unwind(pc uint64, r unwind.Regs, bias uint64, mem func(addr uint64) (uint64, error)) (caller unwind.Regs, cfa uint64, err error) {
	return o.frames.Unwind(pc, r, bias, mem)
}

// HandlesExceptions reports whether the file has handlers of exceptions, and not only code that puts things in order when one passes.
func (o *Object) HandlesExceptions() bool { return o.frames.HandlesExceptions() }

// HasLandingPads reports whether anything is done in the file when an exception passes, or a thread is cancelled: destructors, for example.
func (o *Object) HasLandingPads() bool { return o.frames.HasLandingPads() }

// assignModules fills in Module from the units, or else the name of the object. The debug file of a library that the distribution has
// installed does not count: whether a machine has libc's must not change what libc's functions are called, and reading it would be the
// larger part of an attach.
func (o *Object) assignModules(funcs []*Function) {
	if !o.dwarf.Own() {
		for _, f := range funcs {
			if f.Module == "" {
				f.Module = o.elf.Name()
			}
		}
		return
	}
	for _, f := range funcs {
		if module, ok := o.dwarf.Module(f.Addr); ok {
			f.Module = module
		}
		if f.Module == "" {
			f.Module = o.elf.Name()
		}
	}
}
