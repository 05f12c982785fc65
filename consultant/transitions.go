package consultant

import (
	"fmt"
	"math"

	"culprit/consultant/decide"
	"culprit/consultant/lifecycle"
	"culprit/consultant/priority"
)

// The states of a node, and how it gets from one to another. Every change is a method of node in this file, and looks its
// verb up in one table of what is legal. No other file changes node.state or node.watched; a test holds that.

// A status is the state of a node, and why it is in it.
type status struct {
	state     State
	reason    string
	needless  bool    // of Never: something else made the test needless, for now
	watched   bool    // its pairs are measured, or will be with the next batch; only if Testing, True or False
	suspended bool    // an answer that is not watched for want of CPU time
	recheckAt float64 // s; what is deferred, or an answer that is not watched, is not measured again before
}

// untested is the status of a new node.
func untested() status { return status{state: Queued} }

// move changes the state of a node, whether it is watched, and the reason. Nothing is suspended after it.
func (n *node) move(v lifecycle.Verb, watched bool, reason string) {
	to, ok := lifecycle.Outcome(v, n.state)
	if !ok {
		panic(fmt.Sprintf("BUG: node %d cannot %s: it is %s", n.id, v, n.state))
	}
	n.graph.note(n, to, watched)
	n.state, n.watched, n.reason = to, watched, reason
	n.needless, n.suspended = false, false
}

// assume makes the root of a phase true.
func (n *node) assume() { n.move("hold by definition", false, "the root: holds by definition") }

// begin starts the experiment of a node, as a part of a batch; its pairs are enabled with the batch.
func (n *node) begin(batch int, now float64) {
	n.move("begin", true, "")
	n.experiment = experiment{batch: batch, started: now, first: n.first, next: math.Inf(1)}
}

// settle records an answer. A false node is watched on only if that is asked for.
func (n *node) settle(holds, watch bool, now float64) {
	n.decidedAt = now
	if holds {
		n.move("become true", n.watched, "")
		return
	}
	n.move("become false", n.watched && watch, "")
	n.falseAt = now
}

// stop ends the experiment of a node that goes back to those that wait.
func (n *node) stop(reason string) { n.move("be stopped", false, reason) }

// deferUntil has a node that cannot be measured now tried again at a time. The answer of a true one stands.
func (n *node) deferUntil(at float64, reason string) {
	n.move("be deferred", false, reason)
	n.recheckAt = at
}

// refuse gives a node up that cannot be measured safely.
func (n *node) refuse(reason string) { n.move("be refused", false, reason) }

// exceed leaves a node to stack samples that is too expensive to measure.
func (n *node) exceed(reason string) { n.move("be over budget", false, reason) }

// skip leaves out a test that something else makes needless for now.
func (n *node) skip(reason string) {
	n.move("be skipped", false, reason)
	n.needless = true
}

// giveUp ends what cannot be tested, or not any longer.
func (n *node) giveUp(reason string) { n.move("be given up", false, reason) }

// revive queues a node whose test was needless for now.
func (n *node) revive() { n.move("be revived", false, "") }

// requeue has a node tested from the beginning.
func (n *node) requeue(reason string) {
	n.move("be queued again", false, reason)
	n.win, n.shares, n.tier, n.refused = decide.Window{}, nil, "", ""
	n.wait, n.recheckAt = priority.Wait{}, 0
}

// prune ends a node by the user's wish.
func (n *node) prune(reason string) {
	n.move("be pruned", false, reason)
	n.Pinned, n.Beyond, n.asked, n.plan = false, false, nil, nil
}

// release stops watching an answer. It is watched again when there is room in the budget.
func (n *node) release(reason string) {
	n.move("be released", false, reason)
	n.recheckAt = 0
}

// suspend stops watching an answer for want of CPU time, until a time.
func (n *node) suspend(until float64) {
	n.move("be suspended", false, suspended)
	n.suspended, n.recheckAt = true, until
}

// doubt ends the suspension of an answer at the next turn.
func (n *node) doubt() { n.recheckAt = math.Inf(-1) }

// watchAgain measures an answer anew. What was concluded stands until there is enough to compare.
func (n *node) watchAgain(batch int, now float64) {
	n.move("be watched again", true, "")
	n.batch, n.started, n.next, n.win = batch, now, math.Inf(1), decide.Window{}
}
