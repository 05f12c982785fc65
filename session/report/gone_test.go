package report

import (
	"strings"
	"testing"
)

// TestGoneProbes: what was inserted is accounted for. Probes of a process that ended are neither removed nor left.
func TestGoneProbes(t *testing.T) {
	for want, p := range map[string]Probes{
		"Probes: 7 inserted, 2 removed, 0 left, 5 gone with processes that ended; functions": {Inserted: 7, Removed: 2, Gone: 5},
		"Probes: 7 inserted, 7 removed, 0 left; functions":                                   {Inserted: 7, Removed: 7},
	} {
		r := &Report{Targets: []Target{{PID: 7, Ended: true}}, Probes: p}
		var b strings.Builder
		if r.writeCost(&b); !strings.Contains(b.String(), want) {
			t.Errorf("%s, want %s", b.String(), want)
		}
	}
}
