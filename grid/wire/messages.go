package wire

import "culprit/grid"

// Version is the version of the messages. Both ends must have the same.
const Version = 1

// A Command is what a session asks of a daemon: exactly one of the pointers is set. Each is answered by one Answer with its
// number, but for Cancel, which has none. Commands begin in the order of their numbers.
type Command struct {
	Number uint64 `cbor:"1,keyasint"`

	Hello     *Hello     `cbor:"2,keyasint,omitempty"`
	Attach    *Attach    `cbor:"3,keyasint,omitempty"`
	Price     *Pairs     `cbor:"4,keyasint,omitempty"`
	Enable    *Pairs     `cbor:"5,keyasint,omitempty"`
	Disable   *Pairs     `cbor:"6,keyasint,omitempty"`
	Refine    *Refine    `cbor:"7,keyasint,omitempty"`
	Weigh     *Weigh     `cbor:"8,keyasint,omitempty"`
	ListCode  *Nothing   `cbor:"9,keyasint,omitempty"`
	ListLoops *ListLoops `cbor:"10,keyasint,omitempty"`
	Describe  *Describe  `cbor:"11,keyasint,omitempty"`
	Account   *Nothing   `cbor:"12,keyasint,omitempty"`
	Detach    *Nothing   `cbor:"13,keyasint,omitempty"`
	Cancel    *Cancel    `cbor:"14,keyasint,omitempty"`
	Ping      *Nothing   `cbor:"15,keyasint,omitempty"`
}

// Nothing is a command without arguments.
type Nothing struct{}

// Hello is the first command.
type Hello struct {
	Version int `cbor:"1,keyasint"`
}

// Attach begins to measure processes; once in a connection.
type Attach struct {
	PIDs     []int   `cbor:"1,keyasint"`
	Budget   float64 `cbor:"2,keyasint"` // fraction of the target's active time
	Children bool    `cbor:"3,keyasint"`
	Backend  string  `cbor:"4,keyasint"` // as on the command line
	Library  []Text  `cbor:"5,keyasint"` // PCL, in the order of loading
	Digest   []byte  `cbor:"6,keyasint"` // SHA-256 of Library, see DigestOf
}

// A Text is a piece of PCL and the name under which errors show it.
type Text struct {
	Name string `cbor:"1,keyasint"`
	Text string `cbor:"2,keyasint"`
}

// Cancel ends a command that is under way. It is answered as if it had failed.
type Cancel struct {
	Command uint64 `cbor:"1,keyasint"`
}

// Pairs are metric-focus pairs. ID is the client's number for a pair, the same in the whole connection; values come under it.
type Pairs struct {
	Keys []Pair `cbor:"1,keyasint"`
}

// A Pair is a numbered metric-focus pair.
type Pair struct {
	ID     uint32 `cbor:"1,keyasint"`
	Metric string `cbor:"2,keyasint"`
	Focus  Focus  `cbor:"3,keyasint"`
}

// A Focus is a grid.Focus: what is selected in each hierarchy that is not at its root.
type Focus []Selection

// A Selection is the path below the root of one hierarchy (grid.Hierarchy).
type Selection struct {
	Hierarchy uint8    `cbor:"1,keyasint"`
	Path      []string `cbor:"2,keyasint"`
}

// Refine asks for the next steps of several foci. Along Code, the steps below what samples were seen in are answered too,
// so that following a call graph does not take a round trip for each level.
type Refine struct {
	Questions []Question `cbor:"1,keyasint"`
}

// A Question is a focus and the hierarchy along which it is refined.
type Question struct {
	Focus     Focus `cbor:"1,keyasint"`
	Hierarchy uint8 `cbor:"2,keyasint"`
}

// Weigh asks for the weights of foci, now and then with each Status until other foci are asked for or 5 s have passed.
type Weigh struct {
	Foci []Focus `cbor:"1,keyasint"`
}

// WeightKinds are the kinds of samples of grid.Axis.Weight, in the order of Weights.
var WeightKinds = [...]string{"cpu", "sync", "io", "system_call", "page_fault"}

// Weights are the weights of a focus by WeightKinds.
type Weights [len(WeightKinds)]float64

// ListLoops lists the loops of a function.
type ListLoops struct {
	Module   string `cbor:"1,keyasint"`
	Function string `cbor:"2,keyasint"`
}

// Describe asks for what is to be said of pairs, metrics and foci.
type Describe struct {
	Pairs     []Pair   `cbor:"1,keyasint,omitempty"` // for Notes, Unsure, the standard error and the places
	Metrics   []string `cbor:"2,keyasint,omitempty"` // for Unseen
	Sources   []Focus  `cbor:"3,keyasint,omitempty"` // for file and line
	Holders   []Focus  `cbor:"4,keyasint,omitempty"` // for who holds a lock
	Functions []string `cbor:"5,keyasint,omitempty"` // for which of them was seen most
	PIDs      []int    `cbor:"6,keyasint,omitempty"` // in these processes
	Idle      bool     `cbor:"7,keyasint,omitempty"` // for where threads had nothing to do
}

// A Batch is what happened at the daemon since the batch before. The parts are applied in the order in which they stand
// here: a resource is known before a value of it comes, and values come before the answer that ends them.
type Batch struct {
	Number uint64 `cbor:"1,keyasint"`

	Resources []Resource        `cbor:"2,keyasint,omitempty"`
	Targets   []grid.TargetInfo `cbor:"3,keyasint,omitempty"` // all, when one of them has changed
	Status    *Status           `cbor:"4,keyasint,omitempty"`
	Values    []Value           `cbor:"5,keyasint,omitempty"`
	Log       []string          `cbor:"6,keyasint,omitempty"`
	Answers   []Answer          `cbor:"7,keyasint,omitempty"`
	Ended     bool              `cbor:"8,keyasint,omitempty"` // all targets have ended
}

// Status is what changes all the time.
type Status struct {
	At       float64   `cbor:"1,keyasint"` // s since the session started
	Observed float64   `cbor:"2,keyasint"` // cost, as grid.Instrumenter.ObservedCost
	Spare    float64   `cbor:"3,keyasint"` // s of a CPU that may be used now; +Inf where CPUs are idle
	Stood    float64   `cbor:"4,keyasint"` // s for which each target was stopped so far, on average
	Weighed  []Weighed `cbor:"5,keyasint,omitempty"`
	Costs    []Cost    `cbor:"6,keyasint,omitempty"` // as grid.Instrumenter.Costs
}

// A Cost is the fraction of the targets' active time that the probes of a pair took lately.
type Cost struct {
	ID   uint32  `cbor:"1,keyasint"`
	Cost float64 `cbor:"2,keyasint"`
}

// Weighed is a focus with its weights.
type Weighed struct {
	Focus   Focus   `cbor:"1,keyasint"`
	Weights Weights `cbor:"2,keyasint"`
}

// A Resource is a change of the resource tree.
type Resource struct {
	Change    uint8    `cbor:"1,keyasint"` // a grid.TreeChange
	Hierarchy uint8    `cbor:"2,keyasint"`
	Path      []string `cbor:"3,keyasint,omitempty"`
	Label     string   `cbor:"4,keyasint,omitempty"`
}

// A Value is what a pair was over (Start, End], in s since the session started.
type Value struct {
	ID    uint32        `cbor:"1,keyasint"`
	Start float64       `cbor:"2,keyasint"`
	End   float64       `cbor:"3,keyasint"`
	Value float64       `cbor:"4,keyasint"`
	Held  *grid.Held    `cbor:"5,keyasint,omitempty"` // of a gauge; Value is not used then
	Dist  *Distribution `cbor:"6,keyasint,omitempty"` // of a distribution; Value is not used then
}

// A Distribution is a grid.Distribution: the buckets that are not empty, and how many are in each.
type Distribution struct {
	Buckets []uint8  `cbor:"1,keyasint"`
	Counts  []uint64 `cbor:"2,keyasint"`
	Sum     float64  `cbor:"3,keyasint"`
	Step    float64  `cbor:"4,keyasint"`
}

// An Answer answers the command with its number. Err is set where the command as a whole failed.
type Answer struct {
	Command uint64 `cbor:"1,keyasint"`
	Err     *Error `cbor:"2,keyasint,omitempty"`

	Now          float64       `cbor:"3,keyasint,omitempty"` // of Attach: s since the session started
	Prices       []Price       `cbor:"4,keyasint,omitempty"` // of Price, in the order of the pairs
	Results      []Result      `cbor:"5,keyasint,omitempty"` // of Enable, in the order of the pairs
	Steps        []Step        `cbor:"6,keyasint,omitempty"` // of Refine
	Weighed      []Weighed     `cbor:"7,keyasint,omitempty"` // of Weigh
	Names        []string      `cbor:"8,keyasint,omitempty"` // of ListLoops
	Descriptions *Descriptions `cbor:"9,keyasint,omitempty"`
	Account      *Account      `cbor:"10,keyasint,omitempty"`
	Clean        bool          `cbor:"11,keyasint,omitempty"` // of Detach: nothing is left in any target
}

// A Price is a grid.Price, or why there is none.
type Price struct {
	Price grid.Price `cbor:"1,keyasint"`
	Err   *Error     `cbor:"2,keyasint,omitempty"`
}

// A Result is how enabling one pair went (grid.EnableResult).
type Result struct {
	Tier  string  `cbor:"1,keyasint"`
	Since float64 `cbor:"2,keyasint"`
	Err   *Error  `cbor:"3,keyasint,omitempty"`
}

// A Step is a focus with those that it is refined to, and their weights.
type Step struct {
	Question Question  `cbor:"1,keyasint"`
	Weights  Weights   `cbor:"2,keyasint"` // of the focus of the question
	To       []Weighed `cbor:"3,keyasint,omitempty"`
}

// Descriptions answer Describe, in its order.
type Descriptions struct {
	Pairs    []Description   `cbor:"1,keyasint,omitempty"`
	Unseen   []string        `cbor:"2,keyasint,omitempty"`
	Sources  []Source        `cbor:"3,keyasint,omitempty"`
	Holders  [][]grid.Holder `cbor:"4,keyasint,omitempty"`
	SeenMost string          `cbor:"5,keyasint,omitempty"`
	Idle     *grid.Idle      `cbor:"6,keyasint,omitempty"`
}

// A Description is what is to be said of a pair.
type Description struct {
	Notes    string  `cbor:"1,keyasint,omitempty"`
	Unsure   string  `cbor:"2,keyasint,omitempty"`
	Error    float64 `cbor:"3,keyasint,omitempty"` // standard error of its average
	HasError bool    `cbor:"4,keyasint,omitempty"`
	Places   int     `cbor:"5,keyasint,omitempty"` // in which its probes are
	Probed   bool    `cbor:"6,keyasint,omitempty"` // Places is valid: it is measured, and needs probes
}

// A Source is where code is written; "" where that is not known.
type Source struct {
	File string `cbor:"1,keyasint,omitempty"`
	Line int    `cbor:"2,keyasint,omitempty"`
}

// An Account is what the session has cost and changed.
type Account struct {
	Overhead        grid.Overhead `cbor:"1,keyasint"`
	Probes          grid.Probes   `cbor:"2,keyasint"`
	UnmeasuredNS    int64         `cbor:"3,keyasint,omitempty"` // CPU time of children that ended before they could be measured
	UnmeasuredShare float64       `cbor:"4,keyasint,omitempty"` // of all CPU time
}

// Kinds is how many commands are in one; there must be one.
func (c *Command) Kinds() (n int) {
	for _, set := range []bool{c.Hello != nil, c.Attach != nil, c.Price != nil, c.Enable != nil, c.Disable != nil, c.Refine != nil, c.Weigh != nil,
		c.ListCode != nil, c.ListLoops != nil, c.Describe != nil, c.Account != nil, c.Detach != nil, c.Cancel != nil, c.Ping != nil} {
		if set {
			n++
		}
	}
	return n
}

// Measures reports whether a command is about what is being measured, so that it means nothing after Detach.
func (c *Command) Measures() bool {
	return c.Account == nil && c.Describe == nil && c.Ping == nil && c.Hello == nil
}
