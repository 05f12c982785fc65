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
	} {
		if got := HeldText(holders, targets); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
