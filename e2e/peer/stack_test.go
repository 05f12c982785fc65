package peer

import (
	"slices"
	"testing"
	"time"

	"culprit/daemon"
	"culprit/grid"
	"culprit/internal/require"
)

const (
	stackTime  = 500 * time.Millisecond
	inclusive  = "exec_time_inclusive@/Code/peerstack.c/"
	exclusive  = "exec_time@/Code/peerstack.c/"
	stackCalls = "procedure_calls@/Code/peerstack.c/"
)

// There, the frames of a stopped thread are listed. culprit walks stacks for two things, and both show whether it saw a frame:
// a timer at a function that a thread is in already runs from its insertion on (and stays 0 where it is not), and the samples
// say which functions are on the stack of a thread that computes. The program looks at its own stack at the same time: its
// return addresses are the same at each look.

// standing measures functions while a thread stands in them; those in vain are not on its stack.
func (s *subject) standing(on, vain []string) {
	s.t.Helper()
	var pairs []string
	for _, f := range append(append([]string{}, on...), vain...) {
		pairs = append(pairs, inclusive+f)
	}
	start := time.Now()
	s.enable(pairs...)
	enabled := time.Now()
	time.Sleep(stackTime)
	for _, f := range on {
		s.sampled(f)
	}
	least := time.Since(enabled).Seconds()
	for _, f := range vain {
		if w := s.d.Weight(s.key(inclusive+f).Focus, "cpu"); w > 0 {
			s.t.Errorf("%s was not entered and is on %.0f %% of the stacks", f, 100*w)
		}
	}
	s.disable(pairs...)
	most := time.Since(start).Seconds()
	for _, f := range on {
		if got := s.value(inclusive + f); got < least*0.98 || got > most {
			s.t.Errorf("%s: %.3f s, the thread was there for %.3f to %.3f s", f, got, least, most)
		}
		s.t.Logf("%s: %.3f s of %.3f to %.3f", f, s.value(inclusive+f), least, most)
	}
	for _, f := range vain {
		s.want(inclusive+f, 0)
	}
}

// sampled waits until most of the stacks that were sampled have a function: soon, except on a busy machine.
func (s *subject) sampled(function string) {
	s.t.Helper()
	weight := 0.0
	for deadline := time.Now().Add(patience()); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if weight = s.d.Weight(s.key(inclusive+function).Focus, "cpu"); weight > 0.5 {
			return
		}
	}
	s.t.Errorf("%s is on %.0f %% of the stacks that were sampled", function, 100*weight)
}

// finishes releases the thread and compares all calls.
func (s *subject) finishes(calls ...string) {
	s.t.Helper()
	s.tell("release", "OUT")
	s.disable()
	for _, f := range calls {
		s.want(stackCalls+f, 1)
	}
	s.end()
	if n := s.p.Counts()["traces"]; n < 3 {
		s.t.Errorf("the program looked at its stack %d times", n)
	}
	s.t.Logf("the program looked at its own stack %d times", s.p.Counts()["traces"])
}

// undisturbed starts the program, has its thread go in and out once before anybody looks, so that the program knows its own
// stacks, and attaches to it then.
func undisturbed(t *testing.T) *subject {
	t.Helper()
	require.Root(t) // who may not sample stacks sees none
	p, bin := begin(t, "peerstack.c")
	s := &subject{session: &session{t: t}, p: p, bin: bin}
	s.tell("enter", "IN three")
	s.tell("signal", "IN four")
	s.tell("release", "OUT")
	s.tell("enter", "IN three")
	s.tell("release", "OUT")
	s.session = measure(t, daemon.Options{}, nil, p.PID)
	return s
}

// stackOfAThread: a thread computes three calls deep.
func stackOfAThread(t *testing.T) {
	s := undisturbed(t)
	s.tell("enter", "IN three")
	s.standing([]string{"life", "stack_one", "stack_two", "stack_three"}, []string{"stack_four", "on_signal"})
	s.finishes()
}

// stackInASignalHandler: a signal interrupted the thread there, and its handler has called a function: frames on both sides of
// the kernel's own are seen.
func stackInASignalHandler(t *testing.T) {
	s := undisturbed(t)
	s.tell("enter", "IN three")
	s.tell("signal", "IN four")
	s.standing([]string{"life", "stack_one", "stack_two", "stack_three", "on_signal", "stack_four"}, nil)
	s.finishes()
}

// stackThroughInstrumentation: the functions were instrumented at entry, exit and calls before the thread went in.
func stackThroughInstrumentation(t *testing.T) {
	s := undisturbed(t)
	s.enable(stackCalls+"stack_two", stackCalls+"stack_three", exclusive+"stack_two", exclusive+"stack_one")
	s.tell("enter", "IN three")
	s.standing([]string{"life", "stack_one", "stack_two", "stack_three"}, []string{"stack_four"})
	s.finishes("stack_two", "stack_three")
}

// stackThroughAnInstrumentedHandler: the same with the signal's handler, which interrupts an instrumented function.
func stackThroughAnInstrumentedHandler(t *testing.T) {
	s := undisturbed(t)
	s.enable(stackCalls+"on_signal", stackCalls+"stack_four", exclusive+"on_signal", stackCalls+"stack_three", exclusive+"stack_two")
	s.tell("enter", "IN three")
	s.tell("signal", "IN four")
	s.standing([]string{"life", "stack_one", "stack_three", "on_signal", "stack_four"}, nil)
	handler, callee := s.key(inclusive+"on_signal").Focus, s.key(inclusive+"stack_four").Focus
	if below := s.d.Refinements(handler, grid.Code); !slices.Contains(below, callee) {
		t.Errorf("below %v are %v", handler, below)
	}
	s.finishes("on_signal", "stack_four", "stack_three")
}
