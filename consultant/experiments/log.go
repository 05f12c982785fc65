// Package experiments keeps when a node of the search was tested, for how long, and what that cost the program.
//
// It is pure, imports nothing of the house, and has no lock: whoever owns a Log guards it.
package experiments

import "slices"

// A Test is a time in which the values of a node were measured without a break.
type Test struct {
	Begin   float64 // s since session start; when the first value began
	Seconds float64 // until the end of the last value
	// Cost is what the node's probes were seen to take of the program's active time, 0..1, on average over the test. Probes that other nodes
	// need as well are counted in each of them. It is 0 if they took less than is told of a single pair.
	Cost float64
}

// Most bounds the tests of a Log: the latest are kept.
const Most = 32

// pause is how long no value may come within one test, in s.
const pause = 0.5

// A Log holds the tests of one node, the oldest first. The zero value is empty. Tests that were handed out never change.
type Log struct {
	tests  []Test
	shared bool // they were handed out since one of them changed
}

// Read records that values from a time to another, in s since session start, were read while the node's probes took a share of the program's
// active time.
func (l *Log) Read(from, to, cost float64) {
	if last := len(l.tests) - 1; last >= 0 {
		t := l.tests[last]
		end := t.Begin + t.Seconds
		switch {
		case to <= end:
			return
		case from <= end+pause:
			part := to - end
			t.Cost = (t.Cost*t.Seconds + cost*part) / (t.Seconds + part)
			t.Seconds += part
			if l.shared {
				l.tests, l.shared = slices.Clone(l.tests), false
			}
			l.tests[last] = t
			return
		}
	}
	if len(l.tests) == Most {
		l.tests = append(l.tests[:0:0], l.tests[1:]...)
	}
	l.tests = append(l.tests, Test{Begin: from, Seconds: to - from, Cost: cost})
}

// All are the tests so far, the oldest first. They must not be changed.
func (l *Log) All() []Test {
	l.shared = true
	return slices.Clip(l.tests)
}
