package image

// Prepare makes what a walk through the stacks of stopped threads needs of the object: where its frames are described.
func (o *Object) Prepare() {
	o.frames.Prepare()
}

// PrepareFunctions makes FunctionAt answer at once.
func (o *Object) PrepareFunctions() {
	o.functions()
	o.xref()
}
