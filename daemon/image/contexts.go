package image

import (
	"bytes"
	"slices"
	"strings"

	"culprit/daemon/image/elffile"
)

// switchers are the names of functions that leave for another stack and come back when somebody leaves for this one: of the C library, and
// of what is linked for coroutines (Boost.Context, libco, libucontext, the coroutines of Ruby and of libcoro, libaco).
var switchers = []string{"swapcontext", "setcontext", "jump_fcontext", "ontop_fcontext", "co_switch", "coroutine_transfer", "coro_transfer", "acosw"}

// Switches reports whether the function leaves for another stack, as far as names tell.
func (f *Function) Switches() bool {
	return IsSwitcher(f.Linkage) || slices.ContainsFunc(f.Aliases, IsSwitcher)
}

// IsSwitcher reports whether a function of that name leaves for another stack; libraries put underscores before it.
func IsSwitcher(name string) bool { return slices.Contains(switchers, strings.TrimLeft(name, "_")) }

// MentionsSwitch reports whether a symbol table of the object or of its separate debug file, imports included, has the name of a function that leaves
// for another stack, or one that ends like it. It looks at the bytes of the names only, once.
func (o *Object) MentionsSwitch() bool {
	found, _ := o.mentions.Get(o.elf.Name(), func() (bool, error) { return o.findSwitcher(), nil })
	return found
}

func (o *Object) findSwitcher() (found bool) {
	_ = o.eachTable(func(from *elffile.File, s *elffile.Section) error {
		if str := from.SectionByIndex(s.Link); str != nil {
			found = found || slices.ContainsFunc(switchers, func(name string) bool { return bytes.Contains(str.Bytes(), append([]byte(name), 0)) })
		}
		return nil
	})
	return found
}
