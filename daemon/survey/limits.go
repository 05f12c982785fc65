package survey

import (
	"culprit/daemon/contexts"
	"culprit/daemon/image"
	"culprit/daemon/libc"
	"culprit/daemon/plans"
	"culprit/daemon/stops"
	"culprit/daemon/target"
)

// A Limit is code of a process that is measured by stack samples, or may be, where other code has probes.
type Limit struct {
	Object string // comes from the process and is not safe to show
	Why    string
	Sure   bool // else it is found out when attaching
	Whole  bool // no other code of the process has probes either
}

// Limits says what of a process has no probes, as far as it is seen without stopping it.
func Limits(pid int) (limits []Limit, err error) {
	err = target.EachFile(pid, func(o *image.Object) {
		if o.IsGo() {
			limits = append(limits, Limit{Object: o.Name(), Why: plans.WhyGo, Sure: true})
		}
		if !libc.IsC(o.Name()) && o.MentionsSwitch() {
			limits = append(limits, Limit{Object: o.Name(), Why: "it can leave for another context: if a signal handler of the program does, " + contexts.WhyOneInstruction})
		}
		if stops.CancelsAnywhere(o) {
			limits = append(limits, Limit{o.Name(), "it cancels threads wherever they are (" + libc.SetCancelType + ") and has destructors or cleanup handlers, which would not run", true, true})
		}
	})
	return limits, err
}
