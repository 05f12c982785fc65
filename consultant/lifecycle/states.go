package lifecycle

// A State is the state of a node of the search history graph.
type State string

// The states of search.md.
const (
	Never      State = "never"
	Queued     State = "queued"
	Testing    State = "testing"
	True       State = "true"
	False      State = "false"
	Deferred   State = "deferred"
	Refused    State = "refused"
	Pruned     State = "pruned"
	OverBudget State = "overbudget"
)

// States are all states.
var States = []State{Never, Queued, Testing, True, False, Deferred, Refused, Pruned, OverBudget}

// A Verb names a transition.
type Verb string

// anyState stands in the table for all states of a node.
const anyState State = "any"

// Legal is the table of legal transitions: what a verb makes of a node in a state. What is not in it is a bug.
var Legal = map[Verb]map[State]State{
	"hold by definition": {Queued: True},
	"begin":              {Queued: Testing, Deferred: Testing},
	"become true":        {Testing: True, OverBudget: True, Refused: True, False: True},
	"become false":       {Testing: False, OverBudget: False, Refused: False, True: False},
	"be stopped":         {Testing: Queued},
	"be deferred":        {Queued: Deferred, Deferred: Deferred, Testing: Deferred, False: Deferred, True: True},
	"be refused":         {Queued: Refused, Deferred: Refused, Testing: Refused, True: Refused, False: Refused},
	"be over budget":     {Queued: OverBudget, Deferred: OverBudget},
	"be skipped":         {Queued: Never, Deferred: Never},
	"be given up":        {Queued: Never, Deferred: Never, Testing: Never, True: Never, False: Never},
	"be revived":         {Never: Queued},
	"be queued again":    {anyState: Queued},
	"be pruned":          {anyState: Pruned},
	"be released":        {True: True, False: False},
	"be suspended":       {True: True, False: False},
	"be watched again":   {True: True, False: False},
}

// Outcome is the state that a verb makes of another, and whether that is legal.
func Outcome(v Verb, from State) (to State, ok bool) {
	if to, ok = Legal[v][from]; !ok {
		to, ok = Legal[v][anyState]
	}
	return to, ok
}
