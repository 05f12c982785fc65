package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// TestGaugeText: a gauge shows what it is, in its own unit, and never a sum or a rate; what is not known is not shown as 0.
func TestGaugeText(t *testing.T) {
	missing := Missing(math.NaN())
	known := Pair{Metric: "queue_length", Unit: "items", Sum: 12, Average: 3.25, Min: -2, Max: 19, Uncertainty: missing, Tier: "probe",
		Bins: Bins{3, 4}, Gauge: &Gauge{Last: 7, Lows: Bins{-2, 0}, Highs: Bins{19, missing}}}
	since, unset := known, known
	since.Gauge = &Gauge{Last: 7, SinceAttach: true}
	unset.Average, unset.Min, unset.Max, unset.Gauge = missing, missing, missing, &Gauge{Last: missing}
	r := Report{Pairs: []Pair{known, since, unset}}
	var b strings.Builder
	r.writePairs(&b)
	for _, want := range []string{
		"  queue_length@/: mean 3.25, last 7, min -2, max 19 items (probe)\n",
		"  queue_length@/: mean 3.25, last 7, min -2, max 19 items (probe, since the attach)\n",
		"  queue_length@/: mean -, last -, min -, max - items (probe)\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "sum") || strings.Contains(b.String(), "/s") {
		t.Errorf("a gauge has a sum or a rate:\n%s", b.String())
	}
	text, err := json.Marshal(known)
	if want := `"gauge":{"last":7,"since_attach":false,"lows":[-2,0],"highs":[19,null]}`; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%v %s, want %s in it", err, text, want)
	}
}
