package report

import (
	"strings"
	"testing"
)

// TestIdle: where nothing was found the text says where threads had nothing to do, if they mostly had; else it does not.
func TestIdle(t *testing.T) {
	r := &Report{
		Targets: []Target{{PID: 7, Exe: "/bin/queue"}},
		Nodes:   []Node{{State: "false", Samples: 9}},
		Idle: &Idle{Share: 0.97, Places: []IdlePlace{
			{Function: "queue.cc/mail::submit(std::string const&)", Threads: 3, Share: 0.72, For: "threads", Waker: "thr_9{sender}", WakesIn: "queue.cc/deliver(int) [clone .isra.0]"},
			{Function: "queue.cc/deliver(int)", Threads: 2, Share: 0.14, For: "time"}, {Function: "main.cc/main", Threads: 1, Share: 0.1, Child: true, For: "child"}, {Threads: 1, Share: 0.01},
		}},
	}
	var b strings.Builder
	r.writeBottlenecks(&b)
	want := `No bottleneck found.
Lately the threads had nothing to do for 97 % of their time:
  72 %: 3 threads wait for other threads in queue.cc/mail::submit, woken by thread sender in queue.cc/deliver
  14 %: 2 threads sleep in queue.cc/deliver
  10 %: 1 thread waits for a child process in main.cc/main
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	r.NotMeasuredShare = 0.8 // of little: who has nothing to do uses little
	if r.writeBottlenecks(&b); !strings.HasPrefix(b.String(), "No bottleneck found in what could be measured") || !strings.Contains(b.String(), "72 %: 3 threads wait for other threads in") {
		t.Errorf("of a program whose processes end soon: %s", b.String())
	}
	b.Reset()
	r.Idle.Share, r.NotMeasuredShare = 0.4, 0
	if r.writeBottlenecks(&b); b.String() != "No bottleneck found.\n" {
		t.Errorf("of a program that works: %s", b.String())
	}
}

// TestEarlier: what is over is told, and a report without a bottleneck says so.
func TestEarlier(t *testing.T) {
	r := &Report{Nodes: []Node{{State: "false", Samples: 9}}, Earlier: []Earlier{{Node: 4, Sentence: "a uses 80 %. From 1 s to 9 s, 99 % sure."}, {Node: 7, Sentence: "b waits."}}}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"No bottleneck found.\nWhat was found before is over: see below.\n", "\nEarlier, and over:\n  a uses 80 %. From 1 s to 9 s, 99 % sure.\n  b waits.\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

// TestStopped: where nothing was found in a program that is stopped, that is no all-clear.
func TestStopped(t *testing.T) {
	r := &Report{Targets: []Target{{PID: 7, Exe: "/bin/a", Stopped: true}, {PID: 8, Exe: "/bin/b", Ended: true}}, Nodes: []Node{{State: "false", Samples: 9}}}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"and does nothing until it is continued: kill -CONT 7", "nothing is known of what it does when it runs"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	if !r.Unknown() {
		t.Error("it is an all-clear")
	}
	if r.Targets[0].Stopped = false; r.Unknown() {
		t.Error("of a program that runs nothing is known")
	}
}
