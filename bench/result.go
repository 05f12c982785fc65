package main

// Result is bench.json. Times are ns of one call unless the name says otherwise. What is null could not be measured here;
// standard error says why.
type Result struct {
	CallNS            float64  `json:"call_ns"`             // calling an empty function
	CounterNS         float64  `json:"counter_ns"`          // added by a counter at its entry
	Counter4NS        float64  `json:"counter_4threads_ns"` // the same with four threads at once, the worst of them
	CounterBareNS     float64  `json:"counter_unhidden_ns"` // added by a counter to a function that waits for nothing: no other work hides it
	ResidueNS         float64  `json:"residue_ns"`          // what is left of that when the counter is switched off and its jump is still in the text
	WallTimerPairNS   float64  `json:"wall_timer_pair_ns"`  // added by a wall timer: entry and exit
	CPUTimerPairNS    float64  `json:"cpu_timer_pair_ns"`   // added by a CPU timer
	CallProbeNS       float64  `json:"call_probe_ns"`       // added by a probe that calls an empty function of the program: all registers are saved
	BucketNS          float64  `json:"bucket_ns"`           // added to a wall timer by the distribution of its times
	LockPairNS        float64  `json:"lock_pair_ns"`        // locking and unlocking a mutex that nobody has
	LockFlagsNS       float64  `json:"lock_16flags_ns"`     // added by counting how often each of 16 mutexes is taken, with a flag for each
	LockTableNS       float64  `json:"lock_16table_ns"`     // the same with one table
	EmptyJumpPairNS   float64  `json:"empty_jump_pair_ns"`  // added to the same by a jump away and back with one instruction moved and no probe: the limit of a counter
	RDTSCPairNS       float64  `json:"rdtsc_pair_ns"`       // two readings of the time-stamp counter: the limit of a wall timer
	ThreadCPUTimeNS   float64  `json:"thread_cputime_ns"`   // one clock_gettime(CLOCK_THREAD_CPUTIME_ID)
	UprobeNS          *float64 `json:"uprobe_ns"`           // added by the kernel's own probe at the same entry; null where there is none
	UprobePairNS      *float64 `json:"uprobe_pair_ns"`      // the same at the entry and at the return
	UftracePairNS     *float64 `json:"uftrace_pair_ns"`     // added by uftrace record, entry and return of a function compiled with -pg
	AttachMS          float64  `json:"attach_ms"`           // redis-server: attach, with the table of its functions
	InsertMS          float64  `json:"insert_ms"`           // counters of their own at the entry and all exits of every function of it, analysis included
	InsertPauseUS     int64    `json:"insert_pause_us"`     // the longest time it stood still meanwhile; the median of the rounds
	RemoveMS          float64  `json:"remove_ms"`           // all of them out again, nothing left
	InsertedFunctions int      `json:"inserted_functions"`
	InsertedPoints    int      `json:"inserted_points"`        // places that were patched for that: entries and exits, some of which share one
	InsertEntriesMS   float64  `json:"insert_entries_ms"`      // the same with a counter at each entry only
	InsertModuleMS    float64  `json:"insert_module_ms"`       // the same with one timer for all functions: exec_time_inclusive of the module
	WallPerLimit      float64  `json:"wall_timer_per_limit"`   // wall_timer_pair_ns / rdtsc_pair_ns
	CPUPerLimit       float64  `json:"cpu_timer_per_limit"`    // cpu_timer_pair_ns / rdtsc_pair_ns
	CounterPerJumps   float64  `json:"counter_per_limit"`      // counter_unhidden_ns / empty_jump_pair_ns
	Rows              *Rows    `json:"rows"`                   // what the kernel's rows of threads cost
	Samples           *Samples `json:"samples"`                // what stack samples cost
	Prices            []Price  `json:"prices"`                 // each metric of the default library: what pcl disasm says, and what it costs
	Threads           []Crowd  `json:"threads"`                // several threads that call the same function
	Scale             []Crop   `json:"scale"`                  // ever more points in one large program
	AttachLargeMS     *float64 `json:"attach_large_ms"`        // chromium, 300 MB: attach, with the table of its functions; median of the rounds
	AttachLargeMB     *float64 `json:"attach_large_mb"`        // MiB by which this program's resident memory is larger afterwards
	AttachLargePeakMB *float64 `json:"attach_large_peak_mb"`   // and at most meanwhile
	LargeFileMB       *float64 `json:"attach_large_file_mb"`   // MiB of the executable
	Losses            []Loss   `json:"losses"`                 // servers with many processes: what a search costs their throughput
	Courses           []Course `json:"courses"`                // the same within loads, as time goes by
	Herd              *Herd    `json:"processes"`              // what culprit itself takes to watch very many
	Stops             []Stops  `json:"stops"`                  // how long a search has programs stand still, by each of two builds
	LargeFunctions    int      `json:"attach_large_functions"` // that are known by a name

	Gauges []GaugePrice `json:"gauges"` // what changes of gauges add to a call beside a counter
}

// Rows is what the programs cost that keep rows of threads: of a program that does nothing but hand a byte from one thread to the
// other and back, two switches and two wake-ups a round trip, and by the kernel's own account.
type Rows struct {
	RoundTripNS       float64 `json:"round_trip_ns"`           // without the programs
	UnwatchedNS       float64 `json:"round_trip_unwatched_ns"` // with them, the program not watched
	WatchedNS         float64 `json:"round_trip_watched_ns"`   // and watched
	UnwatchedSlowdown float64 `json:"unwatched_slowdown"`      // share by which a round trip takes longer
	WatchedSlowdown   float64 `json:"watched_slowdown"`
	SwitchUnwatchedNS float64 `json:"switch_unwatched_ns"` // one run of the program of switches, the measuring of the kernel included
	SwitchWatchedNS   float64 `json:"switch_watched_ns"`
	WakeupWatchedNS   float64 `json:"wakeup_watched_ns"`
	OpenMS            float64 `json:"open_ms"` // loading them
}

// A Crowd is what calls cost when several threads make them at once; of the threads the slowest counts.
type Crowd struct {
	Threads         int     `json:"threads"`
	Cores           int     `json:"cores"` // processors that they may use
	CallNS          float64 `json:"call_ns"`
	CounterNS       float64 `json:"counter_ns"`
	WallTimerPairNS float64 `json:"wall_timer_pair_ns"`
}

// A Herd is many processes of several threads that are watched (--no-search --watch cpu) when culprit has attached to all of them.
type Herd struct {
	Processes int       `json:"processes"`
	Threads   int       `json:"threads"`
	DaemonCPU float64   `json:"daemon_cpu"` // share of a processor that culprit uses; median of the rounds
	Rounds    []float64 `json:"daemon_cpu_rounds"`
	OfLimit   float64   `json:"daemon_cpu_per_limit"` // beside 0.03
	DaemonMB  float64   `json:"daemon_mb"`            // MiB of its resident memory at most, attaching included
}

// A Price is what a metric costs in functions that wait for nothing, all of those together that have its probes, called in turn.
type Price struct {
	Metric     string  `json:"metric"`
	Focus      string  `json:"focus"`
	Probes     int     `json:"probes"` // places that are passed in a call of each
	SaidNS     float64 `json:"said_ns"`
	MeasuredNS float64 `json:"measured_ns"`
	Ratio      float64 `json:"ratio"` // said / measured
}

// A Crop is one number of points that are inserted at once into a program of 55,556 functions that runs.
type Crop struct {
	Points   int     `json:"points"`
	InsertMS float64 `json:"insert_ms"` // analysis included
	PauseUS  int64   `json:"pause_us"`  // the longest time the program stood still meanwhile
	Pauses   int     `json:"pauses"`    // how often it did
	RemoveMS float64 `json:"remove_ms"`
	DaemonMB float64 `json:"daemon_mb"` // MiB of resident memory of this program afterwards, garbage left out
	TargetMB float64 `json:"target_mb"` // MiB by which the program's resident memory has grown
}
