package segment

import "culprit/internal/fault"

// The places at which tests have something go wrong: between any two steps that change the target.
var (
	faultCreated = fault.New("segment.created") // its memory is made, the target has none of it
	faultSending = fault.New("segment.passing") // the target has one more descriptor on the way to it
	faultSent    = fault.New("segment.passed")  // the target has the descriptors of it
	faultHead    = fault.New("segment.head")    // the head is mapped and can be found
	faultData    = fault.New("segment.data")    // the counters are
	faultIsland  = fault.New("segment.island")  // an island is
	faultGate    = fault.New("segment.gate")    // its gate is, but forked children would have it too
	faultBuilt   = fault.New("segment.built")   // everything is mapped, the descriptor is open
	faultPassing = fault.New("rows.passing")    // the target has one more descriptor on the way to the kernel's rows
	faultPassed  = fault.New("rows.passed")     // the rows are mapped
)
