// Package priority says which of the tests that wait come first, and since when they wait.
//
// It is pure.
package priority

// Patience is for how long a test against which stack samples speak waits for those of its hypothesis for which they speak, in s. They see little of a program
// that has just been found.
const Patience = 5.0

// Clear is after what time, in s, a test that is clear has ended: one that lasts longer has nobody wait for it.
const Clear = 2.0

// A Priority says how soon a hypothesis is tested at a place.
type Priority struct {
	Pinned bool
	ByHand bool    // asked for by the user: comes first, and is not skipped
	Hot    bool    // stack samples say that it will hold (Deep Start)
	Cool   bool    // stack samples say that it will not hold: it is tested when there is CPU time to spare, after those that are hot
	Beyond bool    // left out since others are on more stacks: tested only if stack samples promise that it holds
	Held   bool    // it held in an earlier run: it is tested beside what is above it
	Left   bool    // left to the stack samples, since an earlier run has ruled it out
	Weight float64 // share of stack samples when it was reached
}

// Wanted tells that the user asked for it.
func (p Priority) Wanted() bool { return p.ByHand || p.Pinned }

// Rank orders tests; the lowest comes first. why says that it is a hypothesis at a place that is known to be of interest, first that it is about the whole program.
func (p Priority) Rank(why, first bool) int {
	switch {
	case p.Wanted():
		return 0
	case why && first:
		return 1
	case p.Hot:
		return 2
	case why:
		return 3
	}
	return 4
}

// What a test may tell. Chances are that it holds, or that an answer changes.
const (
	hotChance    = 0.8
	someChance   = 0.3
	coolChance   = 0.05
	changeChance = 0.1
	leastStake   = 0.02                    // of the time of the program, where stack samples say nothing
	Least        = coolChance * leastStake // of what is worth anything
	cheap        = 0.001                   // price, as a part of the time of the program, below which tests are equally dear
)

// Worth is what a test may tell, or an answer that is watched: the chance that it says something new, times the part of the program that it is about. It is
// above 0.
func (p Priority) Worth(testing bool) float64 {
	chance := someChance
	switch {
	case !testing:
		chance = changeChance
	case p.Hot:
		chance = hotChance
	case p.Cool:
		chance = coolChance
	}
	return chance * max(p.Weight, leastStake)
}

// Gain orders tests of one rank: that comes first which may tell most for its price, a fraction of the time of the program, and for how long it has waited, in s.
func (p Priority) Gain(price, waited float64) float64 {
	return p.Worth(true) / (price + cheap) * (1 + waited/Patience)
}

// IsBehind tells that a test waits for those that are hot, of which there are some, although it could be begun. waited is for how long it has done so, in s.
func (p Priority) IsBehind(hot bool, waited float64) bool {
	return p.Cool && hot && !p.Hot && !p.Wanted() && waited < Patience
}
