// Command bench measures what instrumentation costs on this machine, in one run, and writes bench.json.
//
// Everything is a difference or stands beside its limit: absolute times of one machine say little. Each figure of a call is
// the least of many short rounds, and probed and bare rounds alternate.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
)

// Result is bench.json. Times are ns of one call unless the name says otherwise.
type Result struct {
	CallNS            float64  `json:"call_ns"`             // calling an empty function
	CounterNS         float64  `json:"counter_ns"`          // added by a counter at its entry
	Counter4NS        float64  `json:"counter_4threads_ns"` // the same with four threads at once, the worst of them
	WallTimerPairNS   float64  `json:"wall_timer_pair_ns"`  // added by a wall timer: entry and exit
	CPUTimerPairNS    float64  `json:"cpu_timer_pair_ns"`   // added by a CPU timer
	RDTSCPairNS       float64  `json:"rdtsc_pair_ns"`       // two readings of the time-stamp counter: the limit of a wall timer
	ThreadCPUTimeNS   float64  `json:"thread_cputime_ns"`   // one clock_gettime(CLOCK_THREAD_CPUTIME_ID)
	UprobeNS          *float64 `json:"uprobe_ns"`           // added by the kernel's own probe at the same entry; null where there is none
	AttachMS          float64  `json:"attach_ms"`           // redis-server: attach, with the table of its functions
	InsertMS          float64  `json:"insert_ms"`           // a counter at every function of it, analysis included
	InsertPauseUS     int64    `json:"insert_pause_us"`     // the longest time it stood still meanwhile; the median of the rounds
	RemoveMS          float64  `json:"remove_ms"`           // all of them out again, nothing left
	InsertedFunctions int      `json:"inserted_functions"`
	CounterPerLimit   float64  `json:"wall_timer_per_limit"` // wall_timer_pair_ns / rdtsc_pair_ns
}

func main() {
	out := flag.String("o", "bench.json", "file to write")
	rounds := flag.Int("rounds", 5, "how often probed and bare rounds alternate; the median counts")
	flag.Parse()
	if err := run(*out, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(out string, rounds int) error {
	var r Result
	if err := probes(&r, rounds); err != nil {
		return err
	}
	if err := redis(&r, rounds); err != nil {
		return err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	fmt.Println(string(text))
	return os.WriteFile(out, append(text, '\n'), 0o644)
}

func median(v []float64) float64 {
	s := append([]float64(nil), v...)
	sort.Float64s(s)
	return s[len(s)/2]
}
