package peer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"culprit/grid"
)

// oneCounterManyThreads: there, locks of the tool's own that threads of the program take must exclude each other. culprit's
// probes take no locks: each thread has its own words. All calls of eight threads that do nothing but call are counted.
func oneCounterManyThreads(t *testing.T) {
	s := attach(t, "peerthread.c", metric("weighted", nil, at("hammer", "entry", "weighted += 3;")))
	const threads = 8
	const calls = "procedure_calls@/Code/peerthread.c/hammer"
	s.tell(fmt.Sprintf("born %d", threads), "THREAD")
	s.enable(calls, "weighted", "exec_time_inclusive@/Code/peerthread.c/hammer")
	s.tell(fmt.Sprintf("work %d", rounds(20_000, 1_000_000)), "DONE")
	s.disable()
	n := float64(s.p.Counts()["hammer"])
	s.want(calls, n)
	s.want("weighted", 3*n)
	s.tell("leave", "LEFT")
	s.end()
}

// threadsAreSeen: threads that begin after the attach are resources by their own numbers within a moment, each can be measured
// alone, and they are gone from the resources when they have ended.
func threadsAreSeen(t *testing.T) {
	const threads, calls = 5, 2000
	s := attach(t, "peerthread.c")
	program := fmt.Sprintf("peerthread{%d}", s.p.PID)
	s.tell(fmt.Sprintf("born %d", threads), "THREAD")
	names := s.threads(program, threads)
	var pairs []string
	for _, name := range names {
		pairs = append(pairs, fmt.Sprintf("procedure_calls@/Code/peerthread.c/hammer,/Process/%s/%s", program, name))
	}
	s.enable(pairs...)
	s.tell(fmt.Sprintf("work %d", calls), "DONE")
	s.disable()
	for i, p := range pairs {
		s.want(p, float64(calls*(i+1)))
	}
	s.tell("leave", "LEFT")
	for deadline := time.Now().Add(5 * time.Second); s.d.Tree().Live(grid.Process, program, names[0]); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s has ended and is still there", names[0])
		}
	}
	s.end()
}

// threads waits until the program's new threads are resources; in the order of their birth. Their names have the numbers that
// the threads gave for themselves.
func (s *subject) threads(program string, n int) (names []string) {
	s.t.Helper()
	tids := make([]int, n)
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		said := 0
		for _, line := range s.p.Lines() {
			var tid, i int
			if k, _ := fmt.Sscanf(line, "THREAD %d %d", &tid, &i); k == 2 && i < n {
				tids[i] = tid
				said++
			}
		}
		names = names[:0]
		for i, tid := range tids {
			for _, name := range s.d.Tree().Children(grid.Process, program) {
				if strings.HasPrefix(name, fmt.Sprintf("thr_%d{", tid)) && said == n && i == len(names) {
					names = append(names, name)
				}
			}
		}
		if len(names) == n {
			return names
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("threads %v; known are %q", tids, s.d.Tree().Children(grid.Process, program))
		}
	}
}

// guardsOfManyThreads: there, a guard against recursion of one thread must not stop another's instrumentation. Here eight threads
// are in the same recursive functions at the same time, at the same depth: flags and timers of each are its own.
func guardsOfManyThreads(t *testing.T) {
	within := define("counter", "within", []string{"constraint procedureInclusive"},
		[]string{`append preInsn $function("leaf").entry constrained (* within++; *)`})
	s := attach(t, "peerthread.c", within)
	const threads = 8
	const nested, leaf = "@/Code/peerthread.c/nested", "@/Code/peerthread.c/leaf"
	s.tell(fmt.Sprintf("born %d", threads), "THREAD")
	s.enable("procedure_calls"+nested, "procedure_calls"+leaf, "within"+nested, "exec_time_inclusive"+nested, "exec_time"+nested, "exec_time_inclusive@/Code/peerthread.c/life")
	start := time.Now()
	s.tell(fmt.Sprintf("nest %d", rounds(300, 30_000)), "DONE")
	took := time.Since(start).Seconds()
	s.disable()
	n := s.p.Counts()
	s.want("procedure_calls"+nested, float64(n["nested"]))
	s.want("procedure_calls"+leaf, float64(n["leaf"]))
	s.want("within"+nested, float64(n["leaf"]))
	in, own := s.value("exec_time_inclusive"+nested), s.value("exec_time"+nested)
	if in <= 0 || in > threads*took || own > in {
		t.Errorf("%d threads were %.3f s in nested, %.3f s without callees, in %.3f s", threads, in, own, took)
	}
	t.Logf("%d threads were %.3f s in nested, %.3f s without callees, in %.3f s", threads, in, own, took)
	s.tell("leave", "LEFT")
	s.end()
}
