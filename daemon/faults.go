package daemon

import "culprit/internal/fault"

// The places at which tests have something go wrong: between any two steps that change the target.
var (
	faultCopies   = fault.New("detach.copies")    // copies of jumps are as what was copied
	faultRestored = fault.New("detach.restored")  // the text is as it was
	faultUnmap    = fault.New("detach.unmap")     // a mapping of the segment is gone
	faultUndo     = fault.New("restore.undo")     // a culprit's leftovers are known
	faultUndone   = fault.New("restore.restored") // the text is as it was
)
