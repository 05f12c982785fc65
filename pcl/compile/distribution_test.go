package compile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"culprit/pcl/check"
	"culprit/pcl/internal/cases"
)

func TestHistogramBases(t *testing.T) {
	for _, c := range cases.Histograms {
		t.Run(c.Name, func(t *testing.T) {
			text := `metric m { name "m"; ` + c.Items + ` }`
			if !strings.HasPrefix(c.Want, "\n") {
				_, problems, err := check.Load(check.Options{Texts: []string{text}})
				if err != nil || len(problems) == 0 || !strings.Contains(problems[0].Detail(), c.Want) {
					t.Errorf("got %v %v, want %q", err, problems, c.Want)
				}
				return
			}
			metric, focus := cases.Pair(t, c.Pair)
			lib := cases.Load(t, text)
			plan, err := Plan(lib, metric, focus, cases.NewTarget())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.Want[1:], plan.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if m, _ := lib.Metric("m"); m.Values == "" || !plan.Distribution {
				t.Errorf("the metric has no distribution: %+v", m)
			}
		})
	}
}
