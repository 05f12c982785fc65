package peer

import (
	"fmt"
	"testing"
	"time"

	"culprit/daemon"
)

// adders are metrics that add a number at each call of a function: add9 adds 9.
func adders(function string, numbers ...int) (texts []string) {
	for _, n := range numbers {
		texts = append(texts, metric(fmt.Sprintf("add%d", n), nil, at(function, "entry", fmt.Sprintf("add%d += %d;", n, n))))
	}
	return texts
}

// bear has the program make a child and returns its pid.
func (s *subject) bear(how string) (pid int) {
	s.t.Helper()
	s.p.Say(s.t, how)
	if _, err := fmt.Sscanf(s.p.Expect(s.t, "CHILD ", patience()), "CHILD %d", &pid); err != nil {
		s.t.Fatal(err)
	}
	return pid
}

// both has parent and child make so many calls.
func (s *subject) both(calls, child int) {
	s.t.Helper()
	s.p.Say(s.t, fmt.Sprintf("work %d", calls))
	s.p.Expect(s.t, fmt.Sprintf("RAN %d %d", s.p.PID, calls), patience())
	s.child(calls, child)
}

// child has the child make so many calls.
func (s *subject) child(calls, child int) {
	s.t.Helper()
	s.p.Say(s.t, fmt.Sprintf("tell work %d", calls))
	s.p.Expect(s.t, fmt.Sprintf("RAN %d %d", child, calls), patience())
}

// over ends the sessions of a child and of its parent, and both programs, which must end well.
func (s *subject) over(child *session, pid int) {
	s.t.Helper()
	child.detach(pid)
	s.detach(s.p.PID)
	s.p.MustBeat(s.t, 5*time.Second)
	s.p.Stop(s.t) // it fails unless its children end well
}

const childCalls = 3000

// forkOfAProcess: there, parent and child get different code after the fork. A child that was born while its parent was measured
// counts nothing into it; it becomes a target of its own, with metrics of its own, beside its parent.
func forkOfAProcess(t *testing.T) {
	texts := append(adders("member", 2), adders("other", 3)...)
	s := attach(t, "peerfork.c", texts...)
	s.enable("add2")
	pid := s.bear("fork")
	s.child(childCalls, pid) // inherited probes that count for nobody
	child := measure(t, daemon.Options{}, texts, pid)
	child.enable("add3")
	s.both(childCalls, pid)
	s.disable()
	child.disable()
	s.want("add2", 2*childCalls)
	child.want("add3", 3*childCalls)
	s.over(child, pid)
}

// execOfAProcess: a program that becomes another is at its end; what was counted is kept, and what it has become has none of
// our code and can be measured anew under the same pid.
func execOfAProcess(t *testing.T) {
	s := attach(t, "peerfork.c", adders("member", 2)...)
	s.enable("add2")
	s.p.Say(t, "work 4000")
	s.p.Expect(t, "RAN", patience())
	s.p.Say(t, "exec")
	s.p.Expect(t, "READY", patience())
	s.ended()
	s.want("add2", 8000)
	untouched(t, s.p.PID)
	anew := &subject{session: measure(t, daemon.Options{}, adders("member", 5), s.p.PID), p: s.p}
	anew.enable("add5")
	s.p.Say(t, "work 500")
	s.p.Expect(t, "RAN", patience())
	anew.disable()
	anew.want("add5", 2500)
	anew.detach(s.p.PID)
	s.p.Stop(t)
}

// forkAndExec: a child that executes a program becomes a target of the same session by itself, and the pairs that were enabled
// before it was there cover it.
func forkAndExec(t *testing.T) {
	p, _ := begin(t, "peerfork.c")
	s := &subject{session: measure(t, daemon.Options{Children: true}, adders("member", 2), p.PID), p: p}
	s.enable("add2")
	pid := s.bear("forkexec")
	p.Expect(t, fmt.Sprintf("READY %d", pid), patience())
	s.followed(pid)
	s.both(childCalls, pid)
	s.disable()
	s.want("add2", 4*childCalls)
	s.detach(p.PID, pid)
	p.Stop(t)
}

// followed waits until a child is measured.
func (s *session) followed(pid int) {
	s.t.Helper()
	for deadline := time.Now().Add(patience()); ; time.Sleep(20 * time.Millisecond) {
		for _, i := range s.d.Targets() {
			if i.PID == pid {
				return
			}
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("child %d is not measured", pid)
		}
	}
}

// family has a parent whose code was inserted before the fork, and its child with the same code in a session of its own.
func family(t *testing.T, numbers ...int) (parent *subject, child *session, pid int) {
	t.Helper()
	texts := adders("member", append([]int{9}, numbers...)...)
	parent = attach(t, "peerfork.c", texts...)
	parent.enable("add9")
	pid = parent.bear("fork")
	child = measure(t, daemon.Options{}, texts, pid)
	child.enable("add9")
	parent.both(childCalls, pid)
	return parent, child, pid
}

// deleteInParent: what is taken out of the parent stays in the child.
func deleteInParent(t *testing.T) {
	parent, child, pid := family(t)
	parent.disable()
	parent.d.Settle()
	parent.originalText(parent.p.PID)
	parent.both(childCalls, pid)
	child.disable()
	parent.want("add9", 9*childCalls)
	child.want("add9", 2*9*childCalls)
	parent.over(child, pid)
}

// deleteInChild: what is taken out of the child stays in the parent.
func deleteInChild(t *testing.T) {
	parent, child, pid := family(t)
	child.disable()
	child.d.Settle()
	child.originalText(pid)
	parent.both(childCalls, pid)
	parent.disable()
	parent.want("add9", 2*9*childCalls)
	child.want("add9", 9*childCalls)
	parent.over(child, pid)
}

// deleteInBoth: what is taken out of both is in neither.
func deleteInBoth(t *testing.T) {
	parent, child, pid := family(t)
	parent.disable()
	child.disable()
	parent.d.Settle()
	child.d.Settle()
	parent.originalText(parent.p.PID)
	child.originalText(pid)
	parent.both(childCalls, pid)
	parent.want("add9", 9*childCalls)
	child.want("add9", 9*childCalls)
	parent.over(child, pid)
}

// insertInChildOnly: a child of a parent in which nothing is inserted gets code of its own; its parent is not touched.
func insertInChildOnly(t *testing.T) {
	s := attach(t, "peerfork.c")
	pid := s.bear("fork")
	child := measure(t, daemon.Options{}, adders("member", 211), pid)
	child.enable("add211")
	s.originalText(s.p.PID)
	s.both(childCalls, pid)
	child.disable()
	child.want("add211", 211*childCalls)
	s.over(child, pid)
}

// addToBoth: to code that was there before the fork, parent and child each get two pieces more at the same point, of their own.
func addToBoth(t *testing.T) {
	parent, child, pid := family(t, 11, 13, 5, 3)
	parent.enable("add11", "add13")
	child.enable("add5", "add3")
	parent.both(childCalls, pid)
	parent.disable()
	child.disable()
	for name, n := range map[string]float64{"add9": 2 * 9, "add11": 11, "add13": 13} {
		parent.want(name, n*childCalls)
	}
	for name, n := range map[string]float64{"add9": 2 * 9, "add5": 5, "add3": 3} {
		child.want(name, n*childCalls)
	}
	parent.over(child, pid)
}
