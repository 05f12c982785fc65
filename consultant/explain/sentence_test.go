package explain

import (
	"strings"
	"testing"

	"culprit/consultant/decide"
	"culprit/grid"
)

func TestSentence(t *testing.T) {
	lock := grid.Whole().Refine(grid.Code, "cache.c", "lookup").Refine(grid.SyncObject, "Mutex", "cache_lock")
	sure := Evidence{Estimate: decide.Estimate{Bins: 46, Value: 0.72, Threshold: 0.2, Margin: 0.52}, Bins: 46, Confidence: 1, Fraction: true, Holds: true}
	found := Finding{
		Evidence: sure, Hypothesis: "Waits", Label: "threads wait {percent} for {object} in {function} {source}", Kind: "sync", Focus: lock,
		Code: Function(lock), OfCode: true, Object: Object(lock), File: "cache.c", Line: 45, Since: 3.1,
	}
	for want, change := range map[string]func(f *Finding){
		"Threads wait 72 % for mutex cache_lock in lookup (cache.c:45). Since 3.1 s, 99 % sure (46 readings, threshold 20 %).": func(*Finding) {},
		"Mutex cache_lock alone takes 72 % in lookup (cache.c:45). Since 3.1 s, 99 % sure (46 readings, threshold 20 %).":      func(f *Finding) { f.Label = "{object} alone takes {percent}" },
		"Threads wait 72 % for mutex cache_lock in lookup. Since 3.1 s, 99 % sure (46 readings, threshold 20 %).":              func(f *Finding) { f.File = "" },
		"Threads wait 72 % for other threads in lookup (cache.c:45) (in Subsystem store). Since 3.1 s in phase a\\x1bb, 99 % sure (46 readings, threshold 20 %).": func(f *Finding) {
			f.Object, f.Within, f.Phase = "", "in Subsystem store", "a\x1bb"
		},
		"Waits at /Code/cache.c/lookup,/SyncObject/Mutex/cache_lock: 72 %. Since 3.1 s, 99 % sure (from stack samples, threshold 20 %).": func(f *Finding) {
			f.Label, f.Shares = "", true
		},
		"lookup (cache.c:45) moves 0.72 {words} for mutex cache_lock. Since 3.1 s, 99 % sure (46 readings of stack samples, threshold 0.2). Lately it is not beyond the threshold.": func(f *Finding) {
			f.Label, f.Fraction, f.Samples, f.Estimate.Margin = "{function} moves {value} {words}", false, true, -0.1
		},
		"The program uses 72 % of the CPU time it could have. Since 3.1 s, 99 % sure (46 readings, threshold 20 %).": func(f *Finding) {
			f.Label, f.Focus, f.Object, f.Code, f.OfCode, f.File = "{function} uses {percent} of the CPU time the program could have", grid.Whole(), "", Function(grid.Whole()), false, ""
		},
		"lookup (cache.c:45) uses 72 % of the CPU time the program could have for mutex cache_lock. Since 3.1 s, 99 % sure (46 readings, threshold 20 %).": func(f *Finding) {
			f.Label = "{function} uses {percent} of the CPU time the program could have"
		},
		"At 3.1 s since more than 20 % for mutex cache_lock in lookup (cache.c:45) in thread 2. 99 % sure (46 readings, threshold 20 %).": func(f *Finding) {
			f.Label, f.Focus = "at {since} since more than {threshold}", f.Focus.Refine(grid.Process, "srv{1}", "thr_2{srv}")
		},
		"Threads wait 72 % for mutex cache_lock in lookup (cache.c:45). That is 4.3 of 6 threads. Nearly all of it in thread io. At most 9.0 % of the threads' time would be gained. Since 3.1 s, 99 % sure (46 readings, threshold 20 %).": func(f *Finding) {
			f.Units, f.Estimate.Whole, f.Reasons, f.Stake = "threads", 6.01, []string{"Nearly all of it in thread io"}, 0.09
		},
		"Threads wait 72 % for mutex cache_lock in lookup (cache.c:45). That is 0.7 of 1 thread. Since 3.1 s, 99 % sure (46 readings, threshold 20 %).": func(f *Finding) {
			f.Units, f.Estimate.Whole = "threads", 1
		},
		"Threads wait 72 % for mutex cache_lock in lookup (cache.c:45). That is 1.3 of 2 CPUs. Since 3.1 s, 99 % sure (46 readings, threshold 20 %).": func(f *Finding) {
			f.Units, f.Estimate.Whole, f.Estimate.Used = "CPUs", 2, 1.3
		},
		"Threads wait 72 % for mutex cache_lock in lookup (cache.c:45). It got 0.06 of 1 CPU, and was ready to use 0.7. Since 3.1 s, 99 % sure (46 readings, threshold 20 %).": func(f *Finding) {
			f.Units, f.Estimate.Whole, f.Estimate.Used = "CPUs", 1, 0.06
		},
	} {
		f := found
		change(&f)
		if got := f.Sentence(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if got := (Evidence{Estimate: decide.Estimate{Nothing: true}, Bins: 1, Confidence: 0.5}).String(); got != "too little happened there, 1 reading, 50 % sure" {
		t.Errorf("nothing happened: %s", got)
	}
}

func TestPlaces(t *testing.T) {
	at := func(h grid.Hierarchy, names ...string) grid.Focus { return grid.Whole().Refine(h, names...) }
	for _, c := range [][2]string{
		{Focus(grid.Whole()), "the whole program"}, {Focus(at(grid.Code, "a\x1b.c")), `/Code/a\x1b.c`},
		{Function(grid.Whole()), "the program"}, {Function(at(grid.Code, "a.c")), "module a.c"},
		{Function(at(grid.Code, "a.c", "f")), "f"}, {Function(at(grid.Code, "a.c", "f", "loop_1")), "loop loop_1 of f"},
		{Function(at(grid.Code, "a.c", "f.constprop.0.isra.0")), "f"}, {Function(at(grid.Code, "a.c", "g.partial")), "g.partial"},
		{Object(grid.Whole()), ""}, {Object(at(grid.SyncObject, "CondVar")), "any condition variable"},
		{Object(at(grid.SyncObject, "LibraryLock", "malloc arena")), "a lock of the C library (malloc arena)"}, {Object(at(grid.SyncObject, "LibraryLock")), "any lock of the C library"},
		{Object(at(grid.SyncObject, "FileLock", "/tmp/x")), "the lock of file /tmp/x"}, {Object(at(grid.SyncObject, "FileLock")), "the locks of files"},
		{Object(at(grid.IO, "File", "/tmp/x")), "file /tmp/x"},
		{ObjectName(at(grid.IO, "File")), ""}, {ObjectName(at(grid.IO, "File", "/tmp/x")), "/tmp/x"},
		{Process(grid.Whole()), ""}, {Process(at(grid.Process, "srv{1}")), "process srv{1}"}, {Process(at(grid.Process, "srv{1}", "t")), "thread t"},
		{Process(at(grid.Process, "srv{1}", "thr_2{srv}")), "thread 2"}, {Process(at(grid.Process, "srv{1}", "thr_2{GC Thread#0}")), "thread GC Thread#0"},
		{Process(at(grid.Process, "srv{1}", "thr_1{srv}")), "the main thread of srv{1}"},
		{Item(grid.Whole()), ""}, {Item(grid.Whole().WithItem("Subsystem", "parser")), "Subsystem parser"}, {FunctionOf(at(grid.Code, "a.c")), ""},
	} {
		if c[0] != c[1] {
			t.Errorf("%q, want %q", c[0], c[1])
		}
	}
}

// TestShareOfWhole: a part is never told as more than its whole, in whatever form; a fraction that is no part is told as it is.
func TestShareOfWhole(t *testing.T) {
	f := Finding{
		Evidence: Evidence{Estimate: decide.Estimate{Value: 1.39, Threshold: 0.5, Whole: 2, Share: true}, Bins: 9, Confidence: 0.95, Fraction: true, Holds: true},
		Label:    "{function} uses {percent}, which is {value}", Units: "CPUs", Code: "work", OfCode: true,
	}
	if s := f.Sentence(); strings.Contains(s, "139") || !strings.Contains(s, "work uses 100 %, which is 100 %. That is 2 of 2 CPUs") {
		t.Error(s)
	}
	if s := f.Evidence.String(); !strings.HasPrefix(s, "100 %, ") {
		t.Error(s)
	}
	f.Estimate.Share = false
	if s := f.Sentence(); !strings.Contains(s, "work uses 139 %, which is 139 %") {
		t.Error(s)
	}
}

// TestOne: what a label counts is told in the singular where there is one of it, a unit never.
func TestOne(t *testing.T) {
	for _, c := range []struct {
		label string
		value float64
		want  string
	}{
		{"{function} moves {value} bytes for each operation on {object}", 1, "copy moves 1 byte for each operation on files, sockets or pipes"},
		{"{function} moves {value} bytes for each operation", 1.0001, "copy moves 1 byte for each operation"},
		{"{function} moves {value} bytes for each operation", 1.2, "copy moves 1.2 bytes for each operation"},
		{"{function} moves {value} bytes for each operation", 11, "copy moves 11 bytes for each operation"},
		{"{value} processes of {function} wait", 1, "1 process of copy wait"},
		{"a wait of {function} lasts {value} us", 1, "a wait of copy lasts 1 us"},
		{"{function} at {value} is slow", 1, "copy at 1 is slow"},
	} {
		f := Finding{Evidence: Evidence{Estimate: decide.Estimate{Value: c.value}}, Label: c.label, Kind: "io", Code: "copy", OfCode: true}
		if got := f.Statement(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
