package survey

import (
	"strconv"

	"culprit/daemon/plans"
	"culprit/daemon/target"
)

// Points analyses a file, or all files whose code the process of a number has mapped. Nothing is stopped or changed.
func Points(what string) (plans.Report, error) {
	pid, err := strconv.Atoi(what)
	if err != nil {
		return plans.ReportOf(what)
	}
	r := plans.NewReport()
	err = target.EachFile(pid, r.Add)
	return r, err
}
