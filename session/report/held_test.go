package report

import "testing"

// TestHeldText: threads are told by names that say something, and those that did the same at one place together.
func TestHeldText(t *testing.T) {
	targets := []Target{{PID: 7, Exe: "/usr/bin/a-server-of-many-words"}}
	for want, holders := range map[string][]Held{
		"":                               nil,
		"thread writer (81 %, in c.c/f)": {{"thr_8{writer}", "c.c/f", 0.81}},
		"thread 8 (81 %)":                {{"thr_8{a-server-of-man}", "", 0.81}},
		"the main thread (9 %)":          {{"thr_7{a-server-of-man}", "", 0.09}},
		"the main thread, log (9 %)":     {{"thr_7{log}", "", 0.09}},
		"rank-2(4) (9 %)":                {{"a-server{4}/thr_4{rank-2}", "", 0.09}},
		"3 threads worker-* (60 %, in c.c/f), thread 9 (10 %), the network (5 %)": {
			{"thr_10{worker-1}", "c.c/f", 0.3}, {"thr_9{a-server-of-man}", "", 0.1}, {"thr_11{worker-2}", "c.c/f", 0.2}, {"the network", "", 0.05}, {"thr_12{worker-10}", "c.c/f", 0.1}},
		"2 threads GC (30 %, in c.c/f), thread GC (5 %, in c.c/g)":                {{"thr_1{GC}", "c.c/f", 0.2}, {"thr_2{GC}", "c.c/f", 0.1}, {"thr_3{GC}", "c.c/g", 0.05}},
		"2 threads (30 %), postgres(20) (20 %), thread io of x(9) (10 %), 2 more": {{"thr_1", "", 0.2}, {"thr_2", "", 0.1}, {"postgres{20}/thr_20{postgres}", "", 0.2}, {"x{9}/thr_10{io}", "", 0.1}, {"disk", "", 0.01}, {"timer", "", 0.01}},
		"2 threads of x(9) (30 %), thr_odd (1 %)":                                 {{"x{9}/thr_10{x}", "", 0.2}, {"x{9}/thr_11{x}", "", 0.1}, {"thr_odd", "", 0.01}},
		// Where a thread did the rest is not known.
		"thread 8 (96 %, 52 % in q.c/slow)":                                     {{"thr_8", "q.c/slow", 0.52}, {"thr_8", "", 0.44}},
		"thread 8 (52 %, in q.c/slow), thread 9 (44 %)":                         {{"thr_8", "q.c/slow", 0.52}, {"thr_9", "", 0.44}},
		"thread 8 (50 %, in c.c/f), thread 8 (40 %, in c.c/g), thread 8 (10 %)": {{"thr_8", "c.c/f", 0.5}, {"thr_8", "c.c/g", 0.4}, {"thr_8", "", 0.1}},
		// Functions that are told alike, as overloads are, are one place.
		"thread req-2 (100 %, in os.cpp/os::PlatformEvent::park)":   {{"thr_8{req-2}", "os.cpp/os::PlatformEvent::park()", 0.79}, {"thr_8{req-2}", "os.cpp/os::PlatformEvent::park(long)", 0.21}},
		"2 threads req-* (90 %, in os.cpp/E::park)":                 {{"thr_8{req-2}", "os.cpp/E::park()", 0.5}, {"thr_9{req-3}", "os.cpp/E::park(long)", 0.3}, {"thr_8{req-2}", "os.cpp/E::park(long)", 0.1}},
		"the main thread (9 %, in os.cpp/E::park)":                  {{"thr_7", "os.cpp/E::park()", 0.06}, {"thr_7", "os.cpp/E::park(long)", 0.03}},
		"the main thread (6 %, in a.c/f), thread 8 (3 %, in a.c/f)": {{"thr_7", "a.c/f", 0.06}, {"thr_8", "a.c/f", 0.03}},
	} {
		if got := HeldText(holders, targets); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestTold: one thread of several that does most of the computing is named, once.
func TestTold(t *testing.T) {
	computed := func(share Number) By {
		return By{ComputedBy: []Held{{"thr_8{sweep-1}", "", share}, {"thr_9{sweep-0}", "", 1 - share}}}
	}
	const said = "f uses 56 %."
	for _, c := range []struct {
		by       By
		sentence string
		threads  int
		want     string
	}{
		{computed(0.89), said, 3, said + " It is mostly thread sweep-1 (89 %)."},
		{computed(0.55), said, 3, said},
		{computed(0.95), "f uses 56 % in thread sweep-1.", 3, "f uses 56 % in thread sweep-1."},
		{computed(1), said, 1, said},
		{By{ComputedBy: []Held{{"srv{4}/thr_4{srv}", "", 1}}}, "f uses 56 % in process srv{4}.", 3, "f uses 56 % in process srv{4}."},
		{By{ComputedBy: []Held{{"srv{4}/thr_4{srv}", "", 1}}}, said, 3, said + " It is mostly srv(4) (100 %)."},
		{By{}, said, 3, said},
		{By{HeldBy: []Held{{"thr_8", "", 0.5}}, WokenBy: []Held{{"the network", "", 1}}}, said, 3, said + " Held meanwhile by thread 8 (50 %). The waits are ended by the network (100 %)."},
	} {
		if got := c.by.Told(c.sentence, []Target{{PID: 7, Exe: "/srv", Threads: c.threads}}); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
