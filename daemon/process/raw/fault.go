package raw

// Fault is called at every place where the death of this process would leave the target in another state than before. Tests replace it.
var Fault = func(point string) {}

// AtTransfersEnd and LeftInCalls are two more, where threads move data, and the kernel tells of it.
const (
	AtTransfersEnd = "stop.at-transfers-end"
	LeftInCalls    = "stop.left-in-calls"
)

// FaultPoints are all names that Fault is called with; a test kills a tracer at each of them.
var FaultPoints = []string{
	"stop.one-seized", "stop.seized", "stop.interrupted", "stop.one-stopped", "stop.broken-call", "stop.stopped", "stop.one-released",
	"call.frame-written", "call.registers-set", "call.signals-blocked", "call.entered", "call.made", "call.interrupted",
	"call.signals-restored", "call.registers-restored", "call.brought-back", "call.own-page",
}
