package session

import (
	"math"

	"culprit/grid"
	"culprit/internal/safetext"
	"culprit/session/report"
)

// maxName bounds names and sentences in reports, in characters.
const maxName = 1000

// clean makes text of a target harmless.
func clean(s string) string { return safetext.CleanMax(s, maxName) }

var missing = report.Missing(math.NaN())

// focusReport is the focus for a report, its names cleaned.
func focusReport(f grid.Focus) report.Focus {
	out := report.Focus{}
	for h, path := range f.Map() {
		out[h] = clean(path)
	}
	return out
}
