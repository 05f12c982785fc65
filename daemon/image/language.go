package image

// IsCXX reports whether the object has code of C++: what its compiler has the run-time library do for it is there, or is taken from there.
func (o *Object) IsCXX() bool {
	is, _ := o.cxx.Get(o.elf.Name(), func() (bool, error) { return o.needsCXX(), nil })
	return is
}

func (o *Object) needsCXX() bool {
	for _, name := range []string{"__gxx_personality_v0", "__cxa_pure_virtual", "_Znwm", "_ZdlPv"} {
		if o.MayImport(name) && o.Imports(name) || len(o.Named(name)) > 0 {
			return true
		}
	}
	return false
}

// IsRust reports whether rustc made the object: its unwinder's personality is there under a name of its own.
func (o *Object) IsRust() bool {
	return len(o.Named("rust_eh_personality")) > 0 || len(o.Named("rust_begin_unwind")) > 0
}
