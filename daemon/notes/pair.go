package notes

import (
	"slices"

	"culprit/daemon/children"
	"culprit/daemon/program"
	"culprit/daemon/target"
	"culprit/pcl"
)

// MaxFunctions bounds the functions of a pair that are looked at: metrics of more are about the program, not about functions that
// somebody has named.
const MaxFunctions = 16

// A Pair is what is known of a metric-focus pair.
type Pair struct {
	Units string // of a sum of its values
	Plans []Plan // in the targets that have probes
	Item  *pcl.GroupingItem
	Have  []*target.Target // what its focus covers that has something of the item

	Unloaded map[string]int // how often a file was seen to be unloaded while probes were in it
	LeftOut  []string       // functions that take no probes, and why
	More     float64        // of a thread: what may be its own beside the value
	Less     float64        // what of the value may be of other threads
	Handed   bool           // a value was gone on with by a thread that began in the memory of another
	Late     children.Late  // where the value is over all processes
	Missed   bool           // the value is over all processes, and some ended before they could be measured
	Unseen   string         // what of the metric cannot be seen wherever it is measured
}

// A Plan is that of a pair in one target.
type Plan struct {
	*pcl.Plan
	Target *target.Target
}

// Notes are what was found. What takes long is still to be read.
type Notes struct {
	named  []named
	first  []string // what comes before what is said of inlining
	behind []string
}

// A named function is one that somebody has named, with the program that has it.
type named struct {
	*program.Function
	main *program.Object
}

// Look reads what is known of a pair.
func Look(p *Pair) *Notes {
	return &Notes{named: namedBy(p.Plans), first: missingParts(p), behind: slices.Concat(jumpsAway(p.Plans), unloaded(p.Unloaded), untyped(p.Plans), leftOut(p.LeftOut),
		absent(p.Plans), unseenHandlers(p.Plans), late(p), missed(p), Shared(p), overwritten(p.Plans), neverReturns(p.Plans), unseen(p))}
}

// Lines are the sentences, none if nothing is known.
func (n *Notes) Lines() []string {
	return slices.Concat(sharedNames(n.named), ownToo(n.named), n.first, inlinedToo(n.named), n.behind)
}

// namedBy are the functions at whose entries and exits a pair counts, but for those of lists of libraries.
func namedBy(plans []Plan) (all []named) {
	for _, p := range plans {
		for _, r := range p.Requests {
			f := p.Target.Func(r.Func)
			if f == nil || r.Listed || r.Follows || r.Where != pcl.Entry && r.Where != pcl.Return || slices.ContainsFunc(all, func(n named) bool { return n.Function == f }) {
				continue
			}
			if all = append(all, named{f, p.Target.Main()}); len(all) > MaxFunctions {
				return nil
			}
		}
	}
	return all
}

// addLine adds a line once: several processes run one program.
func addLine(lines []string, line string) []string {
	if slices.Contains(lines, line) {
		return lines
	}
	return append(lines, line)
}
