package peer

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// insertRemoveAndMemory: what is inserted and removed counts while it is in, and not afterwards; removing it twice, or what was
// never there, is no harm. The memory for the probes' variables can be used up, which is said and is no harm either, and all
// of it is there again when what used it is gone.
func insertRemoveAndMemory(t *testing.T) {
	const many, variables = 400, 60
	var texts []string
	for i := range many {
		var names []string
		for v := range variables {
			names = append(names, fmt.Sprintf("v%d", v))
		}
		texts = append(texts, metric(fmt.Sprintf("hungry%d", i), names, at("zero", "entry", fmt.Sprintf("v0 += 1; v%d = v0; hungry%d = v%d;", variables-1, i, variables-1))))
	}
	s := attach(t, "peer.c", texts...)
	const calls = "procedure_calls@/Code/peer.c/zero"
	times := rounds(50, 1000) // the program's lines are kept
	for range times {
		s.enable(calls)
		s.run("zero", 1000)
		s.disable(calls)
		s.run("zero", 1000)
	}
	s.disable(calls)
	s.disable("procedure_calls@/Code/peer.c/four")
	s.want(calls, float64(1000*times))
	first := s.fill(many)
	s.disable()
	s.d.Settle()
	s.originalText(s.p.PID)
	again := s.fill(many)
	if first < 2 || first == many || again != first {
		t.Errorf("%d metrics of %d variables fitted, then %d", first, variables, again)
	}
	s.run("zero", 1000)
	s.disable()
	for i := range again {
		if got := s.value(fmt.Sprintf("hungry%d", i)); got != 1000 {
			t.Errorf("hungry%d: %.0f of 1000 calls", i, got)
		}
	}
	t.Logf("%d metrics of %d variables fill the memory, and so they do again", first, variables)
	s.end()
}

// fill enables metrics until there is no room for another and returns how many there are.
func (s *subject) fill(most int) (n int) {
	s.t.Helper()
	for ; n < most; n++ {
		name := fmt.Sprintf("hungry%d", n)
		err := s.d.Enable(s.keysOf([]string{name}), &s.sums)[0].Err
		if err != nil && strings.Contains(err.Error(), "probe variables") {
			return n
		}
		if err != nil {
			s.t.Fatalf("%s: %v", name, err)
		}
		s.on[name] = true
	}
	return n
}

// someOfOnePoint: of three pieces at one point that add 1, 2 and 3, the first and the last are taken out; what is left adds 2.
func someOfOnePoint(t *testing.T) {
	var texts []string
	for i := 1; i <= 3; i++ {
		texts = append(texts, metric(fmt.Sprintf("add%d", i), nil, at("zero", "entry", fmt.Sprintf("add%d += %d;", i, i))))
	}
	s := attach(t, "peer.c", texts...)
	s.enable("add1", "add2", "add3")
	s.run("zero", 1000)
	s.disable("add1", "add3")
	s.run("zero", 1000) // switched off, still in the text
	s.d.Settle()
	s.run("zero", 1000) // taken out
	s.want("add1", 1000)
	s.want("add3", 3000)
	s.enable("add3")
	s.run("zero", 1000)
	s.disable()
	s.want("add2", 8000)
	s.want("add3", 6000)
	s.end()
}

// readWhileItRuns: there, a variable of the program is read and written while it stands still. culprit leaves the program's
// variables alone; its own are read while the program runs, nobody being stopped for it, are exact whenever the program
// rests, and begin at 0 when they are asked for anew.
func readWhileItRuns(t *testing.T) {
	s := attach(t, "peer.c")
	const calls = "procedure_calls@/Code/peer.c/zero"
	total := 0.0
	for range 2 {
		s.enable(calls)
		stops := s.d.Overhead().Pauses.Count
		for range 3 {
			total += s.run("zero", 100_000)["zero"]
			s.await(calls, total)
		}
		if n := s.d.Overhead().Pauses.Count; n != stops {
			t.Errorf("stopped %d times in order to read", n-stops)
		}
		s.disable()
		s.run("zero", 1000) // nobody counts these
	}
	s.want(calls, total)
	s.end()
}

// await waits until a pair has the value, at most for some passes of the sampler.
func (s *subject) await(pair string, want float64) {
	s.t.Helper()
	for deadline := time.Now().Add(5 * time.Second); s.value(pair) != want; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("%s: %.0f after five seconds, should be %.0f", pair, s.value(pair), want)
		}
	}
}

// oneTimeCode: there, code runs once, at once. What culprit has run in a program once, at once, are its own system calls that
// map its memory: they are made while the program sleeps in a call of its own, which does not fail for it. Code that is to count
// once only is a condition over a variable of the thread: of many calls each thread counts one.
func oneTimeCode(t *testing.T) {
	s := attach(t, "peerthread.c", metric("first", []string{"done"}, at("once", "entry", "if (done == 0) first++; done = 1;")))
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", s.p.PID))
	if err != nil || !strings.Contains(string(maps), "/memfd:culprit") {
		t.Errorf("the system calls of the attach have left no mapping: %v", err)
	}
	const threads = 7
	s.tell(fmt.Sprintf("born %d", threads), "THREAD")
	s.enable("first", "procedure_calls@/Code/peerthread.c/once")
	s.tell("work 1000", "DONE")
	s.tell("work 1000", "DONE")
	s.disable()
	s.want("first", threads)
	s.want("procedure_calls@/Code/peerthread.c/once", float64(s.p.Counts()["once"]))
	s.tell("leave", "LEFT")
	s.end()
}

// exitOfAProcess: the end of a program is noticed, its status is its own, and what was counted until then is complete; also
// of one that is killed.
func exitOfAProcess(t *testing.T) {
	s := attach(t, "peerfork.c")
	const calls = "procedure_calls@/Code/peerfork.c/member"
	s.enable(calls)
	s.tell("work 5000", "RAN")
	s.p.Say(t, "exitpid")
	if status := s.p.Wait(t, patience()); status != s.p.PID&0xff {
		t.Errorf("status %d, should be %d", status, s.p.PID&0xff)
	}
	s.ended()
	s.want(calls, 5000)

	s = attach(t, "peerfork.c")
	s.enable(calls)
	s.tell("work 7000", "RAN")
	s.p.Signal(t, syscall.SIGKILL)
	if status := s.p.Wait(t, patience()); status != 128+int(syscall.SIGKILL) {
		t.Errorf("status %d of a program that was killed", status)
	}
	s.ended()
	s.want(calls, 7000)
}

// ended waits until the session has seen that its programs are gone.
func (s *session) ended() {
	s.t.Helper()
	select {
	case <-s.d.Ended():
	case <-time.After(5 * time.Second):
		s.t.Fatal("the end was not noticed within 5 s")
	}
	if clean, err := s.d.Detach(); !clean {
		s.t.Errorf("detach after the end: %v", err)
	}
}
