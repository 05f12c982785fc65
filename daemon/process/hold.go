package process

import "culprit/daemon/process/hurry"

// A Holder is told when threads of a process may be attached to us, and so may stop until we let them go: Begin before the first of them is,
// End when none is any more. A thread that did not stop in time is attached until it has stopped and was let go, which may be long after
// Stop has returned. Calls come in pairs, from one goroutine at a time for each process; they must not wait for anything.
type Holder interface {
	Begin()
	End()
}

// nobody is the Holder of whoever does not want to know.
type nobody struct{}

func (nobody) Begin() {}
func (nobody) End()   {}

// begin and end tell the Holder, on the tracer's thread. From begin until a stop is over all threads of this program hurry.
func (t *tracer) begin() {
	if !t.hurries {
		t.hurries = true
		hurry.Begin()
	}
	if !t.holds {
		t.holds = true
		t.p.holder.Begin()
	}
}

func (t *tracer) end() {
	if len(t.lingering) > 0 {
		return
	}
	t.calm()
	if t.holds {
		t.holds = false
		t.p.holder.End()
	}
}

// calm comes when a stop is over. Threads that could not be let go yet may take long.
func (t *tracer) calm() {
	if t.hurries {
		t.hurries = false
		hurry.End()
	}
}
