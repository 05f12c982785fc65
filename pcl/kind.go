package pcl

// Gauges are variables of metrics of style SampledFunction. What is measured is the value itself, which holds until it is changed. A
// base of kind counter has one for each thread, one of kind gauge has one for the whole process, whichever thread changes it.
//
// A base of kind histogram(...) has, beside its sum, the distribution of what came to the sum: one value for each time that its timer
// was stopped, or for each += to its counter.

// A Kind is what the metric's own variable is.
type Kind uint8

// The kinds of PCL's "base is ...".
const (
	Counter Kind = iota
	WallTimer
	ProcessTimer // CPU time of the thread
	Kernel       // kept by the kernel: Plan.KernelName
	Void
	Gauge       // a value that holds until it is changed, one of the whole process
	ThreadGauge // the same, one of each thread: a Counter of a metric of style SampledFunction
)

// Holds reports whether the variable is a value that holds until it is changed: what is measured is that value, not its growth.
func (k Kind) Holds() bool { return k == Gauge || k == ThreadGauge }

// String is the word of PCL.
func (k Kind) String() string {
	if k == ThreadGauge {
		return "gauge of each thread"
	}
	for name, kind := range KindNames {
		if kind == k {
			return name
		}
	}
	return "invalid"
}

// KindNames are the kinds by the words of PCL that need no argument.
var KindNames = map[string]Kind{"counter": Counter, "wallTimer": WallTimer, "processTimer": ProcessTimer, "kernel": Kernel, "void": Void, "gauge": Gauge}

// KindText is the kind as PCL writes it after "base is".
func KindText(k Kind, distribution bool) string {
	if distribution {
		return "histogram(" + k.String() + ")"
	}
	return k.String()
}
