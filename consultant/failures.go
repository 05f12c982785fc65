package consultant

import (
	"fmt"

	"culprit/consultant/admission"
	"culprit/consultant/explain"
	"culprit/consultant/lifecycle"
	"culprit/consultant/priority"
	"culprit/grid"
	"culprit/pcl"
)

// Nodes that cannot be measured, and those that cost too much.

const maxAgain = 60.0 // s until a hypothesis of the first level that cost too much is tried again, at most

// fail gives a node that cannot be measured the state that the error says.
func (s *Search) fail(n *node, err error, now float64) {
	reason := explain.Printable(err.Error())
	switch state := lifecycle.Of(err); {
	case n.Held && n.first == 0 && (n.waiting() || n.state == Testing) && pcl.NothingThere(err): // until stack samples see it, or the search comes there
		if n.state == Testing {
			n.stop(reason)
		}
		n.skip("not tested: it held in an earlier run, and is not there now: " + reason)
		s.budget.ForgetErrors(n.pairs)
	case state == Deferred:
		before := n.state
		n.deferUntil(now+n.wait.Defer(), reason)
		if n.state == True {
			return // its answer stands; it is watched again when there is room
		}
		if before != Deferred {
			s.say(n, "deferred: %s", n.reason)
		}
		s.budget.ForgetErrors(n.pairs)
	case state == Never:
		n.giveUp(lifecycle.Unmeasured(err) + ": " + reason)
		s.say(n, "%s", n.reason)
		n.lookPast()
	default:
		n.refuse(reason)
		n.refused = reason
		s.say(n, "refused: %s", reason)
		n.lookPast()
	}
}

// lookPast has the callees of a function tested that cannot be measured itself: that rules nothing out.
func (n *node) lookPast() {
	st := step{h: grid.Code}
	if n.axis == "where" && n.via == grid.Code && n.hyp.Additive() && !n.walked(st) && len(n.trueParents()) > 0 {
		n.ask(st)
	}
}

// overBudget marks a node that alone costs more than the budget, or for which there was no room. It is judged by stack
// samples where they say something (judgeSamples), now and as long as the search runs. A hypothesis of the first level that
// experience made too expensive is tried again: the search is blind without it.
func (s *Search) overBudget(n *node, now float64) {
	if n.persistent() && s.budget.Forgive(n.pairs) {
		n.again = min(max(2*n.again, priority.MostBackoff), maxAgain)
		n.deferUntil(now+n.again, fmt.Sprintf("it cost more than predicted and is tried again in %s", explain.Seconds(n.again)))
		s.say(n, "%s", n.reason)
		return
	}
	if n.starved {
		n.exceed(fmt.Sprintf("there was no room for its %s in the budget of %s for %s", explain.Percent(n.cost), explain.Percent(s.budget.Limit()), explain.Seconds(admission.StarvedAfter)))
	} else {
		n.exceed(fmt.Sprintf("measuring it would take %s of the program's time (%s), the budget is %s", explain.Percent(n.cost), s.budget.Takes(n.pairs), explain.Percent(s.budget.Limit())))
		s.say(n, "over budget: %s", n.reason)
	}
	n.lookPast()
}
