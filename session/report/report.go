// Package report is what a session tells: the JSON report of schema 1, and the same as sentences for people.
//
// It is plain data. It knows no daemon, no search and no screen, and must import nothing of the house but
// internal/safetext and internal/threadname. Every value may be used from any goroutine as long as nobody changes it.
package report

import (
	"encoding/json"
	"math"
)

// Schema is the number of the layout that this package writes. Fields may be added to it, never changed.
const Schema = 1

// LeastStake is the name of the tunable constant below which a finding is a note. The search reads it; no hypothesis does.
const LeastStake = "PC_LeastStake"

// A Report is everything that a session found out.
type Report struct {
	Schema      int          `json:"schema"`
	Tool        string       `json:"tool"`    // name and version
	Started     string       `json:"started"` // RFC 3339
	Seconds     Number       `json:"seconds"` // length of the session
	Targets     []Target     `json:"targets"`
	Nodes       []Node       `json:"nodes"`
	Bottlenecks []Bottleneck `json:"bottlenecks"` // deepest true nodes, worst first
	// Notes are findings with less at stake than the tunable constant LeastStake, and waits that another finding explains: no bottlenecks,
	// but worth knowing.
	Notes []Bottleneck `json:"notes,omitempty"`
	// Earlier is what was found and does not hold any longer; what ended last comes first.
	Earlier []Earlier `json:"earlier,omitempty"`
	// Phases are those that somebody has begun, in order, each with its own answer; the other fields tell of the whole session.
	Phases []PhaseAnswer `json:"phases,omitempty"`
	// Cycle is what the program did again and again; nil if nothing. Its turns begin no phases by themselves.
	Cycle *Cycle `json:"cycle,omitempty"`
	// Idle is where threads had nothing to do; nil if no thread was looked at, or none had nothing to do.
	Idle *Idle `json:"idle,omitempty"`
	// NotMeasured says how much was done by processes that ended before they could be measured; "" if next to nothing. No value tells of it.
	NotMeasured string `json:"not_measured,omitempty"`
	// NotMeasuredShare is which part of all CPU time of the targets and what they started that is, 0..1.
	NotMeasuredShare Number `json:"not_measured_share,omitempty"`
	// NotSearched says that no bottleneck was looked for (--no-search).
	NotSearched bool     `json:"not_searched,omitempty"`
	Pairs       []Pair   `json:"pairs"`
	Jobs        []Job    `json:"jobs,omitempty"` // of MPI
	Overhead    Overhead `json:"overhead"`
	Probes      Probes   `json:"probes"`
	// RemovedClean says that after the end every byte of code was checked and is as it was.
	RemovedClean bool `json:"removed_clean"`
	// ExitStatus is the exit status that the tool ended with.
	ExitStatus int `json:"exit_status"`
	// End says why the session ended: "settled", "time", "interrupted", "quit" or "ended" (the target); Running while it goes on.
	End string `json:"end"`
	// History is what the search was given of an earlier run; nil if nothing.
	History *History `json:"history,omitempty"`
	// Settings are the tunable constants that were not as they are shipped.
	Settings map[string]Number `json:"settings,omitempty"`
	// PairsLeftOut is how many pairs a session that goes on has beside Pairs: only so many are told of.
	PairsLeftOut int `json:"pairs_left_out,omitempty"`
}

// Running is the End of a session that goes on.
const Running = "running"

// A Target is one process that was measured.
type Target struct {
	Host    string `json:"host"`
	PID     int    `json:"pid"`
	Exe     string `json:"exe"`
	BuildID string `json:"build_id,omitempty"` // of the program's file, hexadecimal; absent if the file has none
	Runtime string `json:"runtime"`            // "c", "cxx", "go" or "rust"
	Threads int    `json:"threads"`
	// Interprets is the language of the programs that it runs ("Java"): their functions are not told apart.
	Interprets string `json:"interprets,omitempty"`
	// NamesGenerated says that it names the functions that it compiles while it runs: those are told apart, by stack samples.
	NamesGenerated bool `json:"names_generated,omitempty"`
	// Stopped says that all its threads were stopped by a signal when it was looked at last: it does nothing until it is continued.
	Stopped bool `json:"stopped,omitempty"`
	// Frozen is the file that says that a control group has frozen it; "" if none does.
	Frozen string `json:"frozen,omitempty"`
	Ended  bool   `json:"ended"`
	// Became says that it has not ended: it runs another program now, which is another target if it could be measured.
	Became bool   `json:"became_another,omitempty"`
	From   Number `json:"from"` // when it was joined
	To     Number `json:"to"`   // when its end was seen, or the end of the session
	// Before is for how many s a program that `culprit run` started had run when it was joined: nothing of that is counted. 0 of others.
	Before Number `json:"before,omitempty"`
	// Rank is the process's number in a job of MPI; absent if it is not part of one.
	Rank    *int   `json:"rank,omitempty"`
	Backend string `json:"backend"`       // "probe", or "sample" or "ebpf" if it was only looked at
	Why     string `json:"why,omitempty"` // it was only looked at
	// ExitCode is how a process that `culprit run` started ended: its exit code, or 128 + the signal; absent while it runs.
	ExitCode *int `json:"exit_code,omitempty"`
}

// OnlyLooked reports whether the process was never stopped or changed.
func (t Target) OnlyLooked() bool { return t.Backend == "sample" || t.Backend == "ebpf" }

// A Focus maps a hierarchy ("Code") to the chosen path ("/Code/cache.c/lookup"); roots are left out.
type Focus map[string]string

// Root is the hypothesis of the root of a phase, which holds by definition.
const Root = "top"

// A Phase is the interval a node draws conclusions for, in seconds since the session started; End is null while it lasts.
type Phase struct {
	Name  string  `json:"name"`
	Start Number  `json:"start"`
	End   *Number `json:"end"`
}

// A Node is one (hypothesis, focus, phase) of the search history graph.
type Node struct {
	ID         int    `json:"id"`
	Parents    []int  `json:"parents"`
	Axis       string `json:"axis"` // "why", "where" or "when"
	Hypothesis string `json:"hypothesis"`
	Focus      Focus  `json:"focus"`
	Phase      Phase  `json:"phase"`
	State      string `json:"state"`
	Value      Number `json:"value"`
	// NoValue says why Value is none, which is the threshold then: "it does not apply here" or "too little happened"; "" if it is one.
	NoValue   string `json:"no_value,omitempty"`
	Threshold Number `json:"threshold"`
	Greater   bool   `json:"greater"` // the hypothesis holds above the threshold; else below it
	// Share says that the value is a part of a whole: beyond 1 only as far as the measurement errs.
	Share      bool   `json:"share,omitempty"`
	Unit       string `json:"unit"`
	Confidence Number `json:"confidence"` // 0..1
	Samples    int    `json:"samples"`
	Since      Number `json:"since"` // s since the session started
	Cost       Number `json:"cost"`  // fraction of the target's active time
	Tier       string `json:"tier"`  // "probe", "kernel" or "sample"
	Reason     string `json:"reason"`
	// Refused is why no probe may be inserted there; stack samples tell of it, where there are some.
	Refused string `json:"refused,omitempty"`
	Note    string `json:"note,omitempty"` // what the value does not tell of
	// Error is the standard error of Value; nil if it is not known.
	Error *Number `json:"error,omitempty"`
	// Mean is that of all readings of all tests; nil if there were too few.
	Mean *Mean `json:"mean,omitempty"`
	// Tests is when it was measured, the oldest first; of many the latest.
	Tests []Test `json:"tests,omitempty"`
}

// A Mean is an average with its standard error, in the unit of the node.
type Mean struct {
	Value Number `json:"value"`
	Error Number `json:"error"`
}

// A Test is a time in which the values of a node were measured without a break.
type Test struct {
	Begin   Number `json:"begin"`   // s since the session started
	Seconds Number `json:"seconds"` // how long it lasted
	// Cost is what the node's probes were seen to take of the target's active time, 0..1; 0 if that is less than a thousandth.
	Cost Number `json:"cost"`
}

// A Bottleneck is a deepest true node with what a user reads of it.
type Bottleneck struct {
	Node     int     `json:"node"`
	Sentence string  `json:"sentence"`
	Chain    []int   `json:"chain"` // IDs from the root to the node
	Severity Number  `json:"severity"`
	Source   *Source `json:"source"` // null if unknown
	Object   string  `json:"object,omitempty"`
	// Own is what the function has itself of the value of the node, where one that it calls is told as well; 0 else.
	Own Number `json:"own,omitempty"`
	By
	// ExplainedBy is the node of the finding that the threads wait for; 0 if there is none.
	ExplainedBy int `json:"explained_by,omitempty"`
	// Why is the hypothesis that says why it holds; absent if that is the one of the node.
	Why string `json:"why,omitempty"`
	// Advice is what to do about it, as the hypothesis explains it; "" if it does not.
	Advice string `json:"advice,omitempty"`
}

// An Earlier is a bottleneck that is over: its node is false now.
type Earlier struct {
	Node       int    `json:"node"`
	Hypothesis string `json:"hypothesis"` // that says most of why it held
	From       Number `json:"from"`       // s since the session started; when it first held
	To         Number `json:"to"`         // when it was seen to hold last
	Times      int    `json:"times"`      // how often it began to hold
	Severity   Number `json:"severity"`   // what was at stake when it was surest, 0..1
	Sentence   string `json:"sentence"`
}

// By are the threads that a bottleneck is about, those with the largest shares first.
type By struct {
	HeldBy     []Held `json:"held_by,omitempty"`     // who had its lock
	WokenBy    []Held `json:"woken_by,omitempty"`    // who ended the waits
	InTurn     []Held `json:"in_turn,omitempty"`     // for whom those wait who ended the waits, while they wait themselves
	ComputedBy []Held `json:"computed_by,omitempty"` // who computes there
	Awaited    []Held `json:"awaited,omitempty"`     // for whom of those that compute there others wait
	// CPUsUsedBy are other programs, of a target that waits for CPUs; shares are of all CPUs of the machine.
	CPUsUsedBy []Held `json:"cpus_used_by,omitempty"`
}

// A Held is a thread that had the lock of a bottleneck while others waited for it, one that ended their waits, or one that computes.
type Held struct {
	Thread   string `json:"thread"`
	Function string `json:"function,omitempty"` // where it was mostly meanwhile
	Share    Number `json:"share"`              // of the looks at threads that waited, or of the samples there, 0..1
}

// A Source is a place in a source file.
type Source struct {
	File string `json:"file"`
	Line int    `json:"line"`
}

// A Pair is a metric at a focus that was asked for with --watch.
type Pair struct {
	// Asked is set if the user named it himself, rather than with a star.
	Asked  bool   `json:"-"`
	Metric string `json:"metric"`
	Focus  Focus  `json:"focus"`
	Unit   string `json:"unit"`
	// Sum is exact for counters of the probe tier, and null if the pair was not measured. Average, Min and Max are per bin, but for a Gauge, and
	// null where nothing was measured.
	Sum     Missing `json:"sum"`
	Average Missing `json:"average"`
	Min     Missing `json:"min"`
	Max     Missing `json:"max"`
	// Uncertainty is the standard error of Average for values of the sample tier; null elsewhere, and where it is not known.
	Uncertainty Missing `json:"uncertainty"`
	Tier        string  `json:"tier"`
	Start       Number  `json:"start"`
	BinSeconds  Number  `json:"bin_seconds"`
	Bins        Bins    `json:"bins"`            // null = nothing measured in that interval
	Error       string  `json:"error,omitempty"` // why the pair was not measured
	// Note is what the value does not tell of: "f is inlined at 3 places: those calls are not counted".
	Note string `json:"note,omitempty"`
	// Gauge is there for metrics of style SampledFunction.
	Gauge *Gauge `json:"gauge,omitempty"`
	// Distribution is there for metrics whose base is a histogram.
	Distribution *Distribution `json:"distribution,omitempty"`
}

// Overhead is what the tool cost the targets, as measured.
type Overhead struct {
	Budget    Number `json:"budget"`   // fraction of the target's active time
	Observed  Number `json:"observed"` // same
	Pauses    Pauses `json:"pauses"`
	DaemonCPU Number `json:"daemon_cpu"` // CPUs that the tool itself used
	// Taken is the share of the machine's CPU time that the tool used and others would have had, since no CPU was idle. Lost estimates which share of its
	// work the target has not done: by Observed, and by what Taken brings with it.
	Taken Number `json:"taken"`
	Lost  Number `json:"lost"`
}

// Pauses are the stops of the target for patching.
type Pauses struct {
	Count   int   `json:"count"`
	MaxUS   int64 `json:"max_us"`
	TotalUS int64 `json:"total_us"`
	LaterUS int64 `json:"later_us"` // of TotalUS, more than five seconds after the first pause
	// P50US and P99US are lengths that half of the pauses and 99 % of them do not pass, at most 9.1 % too long; left out without pauses.
	P50US *int64 `json:"p50_us,omitempty"`
	P99US *int64 `json:"p99_us,omitempty"`
	// ThreadStops is how often a thread was stopped: the threads that were paused each time, added up. Those that slept in calls were not.
	ThreadStops int `json:"thread_stops"`
	// CutTransfers is how many blocking calls moved less data than they were to because of a pause.
	CutTransfers int `json:"cut_transfers"`
}

// Probes counts the probes of the session.
type Probes struct {
	Inserted int       `json:"inserted"`
	Removed  int       `json:"removed"`
	Left     int       `json:"left"`           // that are still in targets that live
	Gone     int       `json:"gone,omitempty"` // that went with the code of targets that ended
	Refused  []Refusal `json:"refused"`
}

// A Refusal is a function that was not instrumented, and why.
type Refusal struct {
	Function string `json:"function"`
	Reason   string `json:"reason"`
}

// A Number is always finite in JSON: NaN is written as 0 and an infinity as the largest float of its sign.
type Number float64

// MarshalJSON writes the number; it never fails.
func (n Number) MarshalJSON() ([]byte, error) {
	f := float64(n)
	switch {
	case math.IsNaN(f):
		f = 0
	case math.IsInf(f, 1):
		f = math.MaxFloat64
	case math.IsInf(f, -1):
		f = -math.MaxFloat64
	}
	return json.Marshal(f)
}

// A Missing is a number that may be absent: NaN and the infinities are null in JSON, and null is read as NaN.
type Missing float64

// MarshalJSON writes the number or null; it never fails.
func (m Missing) MarshalJSON() ([]byte, error) {
	f := float64(m)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(f)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (m *Missing) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*m = Missing(math.NaN())
		return nil
	}
	var f float64
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	*m = Missing(f)
	return nil
}

// Bins is a time histogram; NaN (null in JSON) stands for an interval in which nothing was measured.
type Bins []Missing

// MarshalJSON writes an array, also where there is no bin at all.
func (b Bins) MarshalJSON() ([]byte, error) {
	if b == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]Missing(b))
}
