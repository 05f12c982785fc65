package target

import (
	"culprit/daemon/patch"
	"culprit/daemon/process"
	"culprit/daemon/segment"
)

// mine is for what this culprit has put there itself: it may take it out whenever it likes.
func mine() error { return nil }

// TakeOut takes all that is ours out of a process that lives, along with what the last batch does. If something stands in the way, it is done
// once more from what the process itself carries. After an error everything is as it was, and it may be called again.
func (t *Target) TakeOut(along patch.Along) error {
	if t.Proc.Gone() {
		return process.ErrTargetExited
	}
	if t.Seg == nil {
		return nil
	}
	err := t.remove(along)
	if err != nil && !t.Proc.GoneBy(err) {
		t.Logf("%s: detaching once more after: %v", t.Name, err)
		err = t.Text.Restore(&patch.RestoreReport{}, mine)
	}
	if err == nil {
		err = segment.Tidy(t.Proc, t.Stops.Stop)
	}
	if err != nil {
		return err
	}
	t.Text.TakenOut()
	return nil
}

// remove takes out what is known to be in.
func (t *Target) remove(along patch.Along) error {
	if err := t.Text.TakeOut(along); err != nil {
		return err
	}
	if t.Text.Unsure() {
		return t.Text.Restore(&patch.RestoreReport{}, mine)
	}
	t.Contexts.LeavesNothing(t.Text.Ever())
	err := t.Text.Unmap()
	if err == nil && t.Seg.Stays {
		t.Logf("%s: the code is as it was; trampolines stay in its memory until it ends, since contexts of the program may come back to them", t.Name)
	}
	return err
}
