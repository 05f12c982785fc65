package explain

import "testing"

func TestStatus(t *testing.T) {
	for want, s := range map[string]Status{
		"nothing left to test; 0 true, 0 false, watching 0":                                                   {},
		"testing Busy at /Code/a.c/f; 0 true, 3 false, watching 0":                                            {Testing: "Busy at /Code/a.c/f", Tested: 1, False: 3},
		"testing Busy at the whole program and 2 others; 4 queued; 0 true, 0 false, watching 0":               {Testing: "Busy at the whole program", Tested: 3, Queued: 4},
		"2 candidates wait for budget: 1.5 % of 2.0 % are used; 1 deferred; 1 true, 0 false, watching 1":      {Blocked: 2, Queued: 9, Deferred: 1, Observed: 0.015, Limit: 0.02, True: 1, Watched: 1},
		"1 queued; 1 candidate waits until CPUs are less busy; 0 true, 0 false, watching 0":                   {Queued: 2, Postponed: 1},
		"nothing left to test; 2 cannot be ruled out; 3 true, 1 false, watching 1, 2 re-checked periodically": {Unseen: 2, True: 3, False: 1, Watched: 1, Suspended: 2},
	} {
		if got := s.String(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestUnfinished(t *testing.T) {
	for want, got := range map[string]string{
		"not tested: the search ended before":                                    Unfinished(false, 0),
		"the search ended before enough was seen":                                Unfinished(true, 0),
		"it was ruled out at 3.0 s; the search ended before it was tested again": Unfinished(false, 3),
		"it was ruled out at 3.0 s; the search ended before enough was seen":     Unfinished(true, 3),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
