package patch

import "culprit/internal/fault"

// The places at which tests have something go wrong: between any two steps that change the process.
var (
	faultPrepared = fault.New("batch.prepared")    // trampolines are written
	faultStopped  = fault.New("batch.stopped")     // the process stands still
	faultLedger   = fault.New("batch.ledger")      // the ledger says what will be changed
	faultPage     = fault.New("batch.page")        // a page of text was changed
	faultSettle   = fault.New("batch.settle")      // all pages were
	faultCaughtUp = fault.New("batch.caught-up")   // threads that are inside functions were told
	faultCopies   = fault.New("detach.copies")     // copies of jumps are as what was copied
	faultRestored = fault.New("detach.restored")   // the text is as it was
	faultUnmap    = fault.New("detach.unmap")      // a mapping of the segment is gone
	faultKnown    = fault.New("restore.known")     // a culprit's leftovers are, the process runs
	faultUndo     = fault.New("restore.undo")      // and stands still
	faultUndone   = fault.New("restore.restored")  // the text is as it was
	faultTaken    = fault.New("unload.taken-back") // code that was moved with jumps in it is as it was
)

// Watch, if a test has set it, is called while the process stands still: when a batch has stopped it, right before bytes of
// the text are written, and after the last of them was.
var Watch func(h Host, when Step, pages []*PageEdit)

// A Step is how far a batch has come.
type Step int

// The steps that Watch is told of.
const (
	Stopped Step = iota
	Writing
	Written
)

func (t *Text) watch(when Step, pages []*PageEdit) {
	if Watch != nil {
		Watch(t.Host, when, pages)
	}
}
