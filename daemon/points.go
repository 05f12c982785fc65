package daemon

import (
	"strconv"

	"culprit/daemon/plans"
)

// Points analyses a file, or all files whose code a process has mapped. Nothing is stopped or changed.
func Points(target string) (plans.Report, error) {
	pid, err := strconv.Atoi(target)
	if err != nil {
		return plans.ReportOf(target)
	}
	r := plans.NewReport()
	err = eachFile(pid, r.Add)
	return r, err
}
