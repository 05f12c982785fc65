package diff

import (
	"fmt"
	"math"

	"culprit/session/report"
)

// delayed is the hypothesis that tells how long a program waited for CPUs.
const delayed = "SchedulingDelay"

// crowded is by how much the shares of time in which a program waited for CPUs must differ for it to be said.
const crowded = 0.1

// Crowded says that in one of two reports the program waited longer for CPUs than in the other, so that the difference may be that of the machine and
// not of the program; "" if it did not, or that is not known.
func Crowded(a, b *report.Report) string {
	one, two := waitForCPUs(a), waitForCPUs(b)
	if !(math.Abs(one-two) >= crowded) {
		return ""
	}
	return fmt.Sprintf("the program was ready to run and waited for a CPU for %s of its time in the first report and for %s in the second: what differs may come from other programs on the machine",
		report.Quantity(100*one, "%"), report.Quantity(100*two, "%"))
}

// waitForCPUs is the share of time that the program waited for CPUs, NaN if that is not known.
func waitForCPUs(r *report.Report) float64 {
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if n.Hypothesis == delayed && len(n.Focus) == 0 && n.Samples > 0 && (n.Phase.Name == "" || n.Phase.Name == "global") {
			if n.Mean != nil {
				return float64(n.Mean.Value) // as the changes
			}
			return float64(n.Value)
		}
	}
	return math.NaN()
}
