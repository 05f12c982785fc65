package grid

import "fmt"

// What whoever measures tells of targets and of itself, for people.

// A Backend is how the values of a target are come by. Whatever it is, what the kernel accounts to the whole program, a process
// or a thread is read from there.
type Backend int

// The backends.
const (
	// BackendProbe patches trampolines into the target. A target that does not allow it is an error of the attach.
	BackendProbe Backend = iota
	// BackendAuto is BackendProbe where that is possible and BackendSample elsewhere.
	BackendAuto
	// BackendSample only looks: at samples of stacks. The target is never traced, stopped or written to. What the kernel keeps for
	// each thread by eBPF is told where that is possible.
	BackendSample
	// BackendEBPF is BackendSample where that must be possible: else the attach fails.
	BackendEBPF
)

var backendNames = [...]string{BackendProbe: "probe", BackendAuto: "auto", BackendSample: "sample", BackendEBPF: "ebpf"}

// Looks reports whether no target is ever patched.
func (b Backend) Looks() bool { return b == BackendSample || b == BackendEBPF }

// String is the name on the command line.
func (b Backend) String() string { return backendNames[b] }

// ParseBackend reads a name; the error lists those that there are.
func ParseBackend(name string) (Backend, error) {
	for b, n := range backendNames {
		if n == name {
			return Backend(b), nil
		}
	}
	return 0, fmt.Errorf("expected auto, probe, sample or ebpf")
}

// TargetInfo describes a target.
type TargetInfo struct {
	Host    string
	PID     int
	Exe     string
	BuildID string // of the program's file, hexadecimal; "" if it is not known
	Runtime string // "c", "cxx", "go" or "rust"
	Threads int
	// Interprets is the language of the programs that it runs ("Java"), whose functions are not told apart; "" if it is not known to run any.
	Interprets string
	// NamesGenerated says that it names functions of the code that it generates, which are told apart.
	NamesGenerated bool
	Ended          bool
	Became         bool    // it has not ended but runs another program: Ended is set too
	From           float64 // session time at which it was joined
	To             float64 // when its end was seen, or now
	Stopped        bool    // all its threads are stopped by a signal, as of the last look
	Frozen         string  // the file that says that a control group has frozen it; "" if none does
	Lossy          bool    // more threads lived than can be told apart: its numbers are lower bounds
	Rank           *Rank   // in a job of MPI; nil if it is not part of one
	Backend        Backend
	Why            string // it is only looked at; "" where it is patched
}

// A Rank is a process's place in a job of MPI.
type Rank struct {
	Job    string // what the ranks of one job have in common; not to be shown raw
	Number int    // 0 or more
}

// A Holder is a thread that had a lock while others waited for it, one that ended the waits of others, or one that computes.
type Holder struct {
	Thread   string  // its element of the Process hierarchy, with that of its process if that is another one; of the kernel a few words
	Function string  // where it was mostly meanwhile, "" if nobody knows
	Share    float64 // of the looks at threads that waited lately, or of the samples of those that ran, 0 to 1
	Wakes    bool    // it ended waits
	InTurn   bool    // those wait for it who ended the waits; then it did not wait itself
	Works    float64 // of such a one the part of Share in which it was not waiting itself
	Delayed  float64 // of such a one the part of Share in which it waited for a CPU and for nothing else
	Wholly   float64 // of such a one the part of Share in which it hardly waited for anything but a CPU, and those waited for all that it does
	Computes bool    // it was seen to run where the focus says
	Competes bool    // it is another program that uses CPUs while none is idle; Share is of all CPUs
}

// EndedProcesses is the Thread of a Holder that stands for processes which have ended soon, before they could be measured.
const EndedProcesses = "processes that ended soon and were not measured"

// Idle is what part of the threads' time they had nothing to do lately, and where.
type Idle struct {
	Share  float64     // of the time of all threads, 0 to 1
	Places []IdlePlace // the largest first
}

// An IdlePlace is where threads had nothing to do, and who gives them something to do.
type IdlePlace struct {
	Function string // module/function of the program's own, "" if nobody knows
	Threads  int
	Share    float64 // of the time of all threads, 0 to 1
	Waker    string  // thread of the program that ends most of these waits, as in Holder; "" if none does
	WakesIn  string  // where that is mostly meanwhile, "" if nobody knows
	For      IdleFor // what they wait for there; "" if nobody knows
}

// An IdleFor is what a thread with nothing to do waits for.
type IdleFor string

// What such a thread may wait for.
const (
	ForTime    IdleFor = "time" // it sleeps
	ForInput   IdleFor = "input"
	ForChild   IdleFor = "child"   // a child process that ends
	ForThreads IdleFor = "threads" // others that give it something to do
	ForSignal  IdleFor = "signal"
)

// Overhead is what a session costs.
type Overhead struct {
	Observed  float64 // fraction of the target's active time, since the attach
	Pauses    Pauses
	DaemonCPU float64 // CPUs used by whoever measures since the attach
	Taken     float64 // share of the machine's CPU time that whoever measures has used and others would have had, since no CPU was idle
	Lost      float64 // estimate of the share of its work that the target has not done: by Observed, and by what Taken brings with it
}

// Pauses are how often and for how long targets were stopped. Times are in us.
type Pauses struct {
	Count          int
	MaxUS, TotalUS int64
	LaterUS        int64 // of TotalUS, more than five seconds after the first pause
	P50US, P99US   int64 // at most 9.1 % too long; 0 without pauses
	ThreadStops    int   // how often a thread was stopped
	Cuts           int   // blocking calls that moved less data than they were to, because of a pause
}

// A Refusal is a function that could not be instrumented.
type Refusal struct{ Function, Reason string }

// Probes counts the sites that were patched. Left are those that still are, in targets that live and were not left.
type Probes struct {
	Inserted, Removed, Left int
	Refused                 []Refusal
}
