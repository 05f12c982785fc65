package process

// fault is called at every place where the death of this process would leave the target in another state than before. Tests replace it.
var fault = func(point string) {}

// atTransfersEnd is one more, which only threads come to that move data, and only where the kernel tells of it.
const atTransfersEnd = "stop.at-transfers-end"

// faultPoints are all names that fault is called with; a test kills a tracer at each of them.
var faultPoints = []string{
	"stop.one-seized", "stop.seized", "stop.interrupted", "stop.one-stopped", "stop.broken-call", "stop.stopped", "stop.one-released",
	"call.frame-written", "call.registers-set", "call.signals-blocked", "call.entered", "call.made", "call.interrupted",
	"call.signals-restored", "call.registers-restored", "call.brought-back", "call.own-page",
}
