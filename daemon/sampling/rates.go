package sampling

// The rates of stack samples of each thread that runs: about 10 us each.
const (
	// sampleHz takes 0.1 % of a processor.
	sampleHz = 97
	// restingHz is enough to notice within seconds that something else runs now, where the search waits for processor time: to walk a stack
	// takes us another 30 us, which at 31 a second were a third of what we took of two full processors between answers.
	restingHz = 15
	// ReceivedHz is the rate where all values come of the samples, as in a target that is only looked at: half a percent.
	ReceivedHz = 249
)
