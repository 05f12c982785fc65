package image

// IsRust reports whether rustc made the object: its unwinder's personality is there under a name of its own.
func (o *Object) IsRust() bool {
	return len(o.Named("rust_eh_personality")) > 0 || len(o.Named("rust_begin_unwind")) > 0
}
