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
	"slices"
	"sort"
	"strings"
)

// A part of the benchmark fills its fields of the result.
type part struct {
	name string
	run  func(r *Result, rounds int) error
}

var parts = []part{{"probes", probes}, {"distribution", distribution}, {"locks", locks}, {"gauges", gauges}, {"prices", prices}, {"threads", threads}, {"rows", kernelRows}, {"samples", stackSamples}, {"uftrace", uftrace}, {"redis", redis}, {"postgres", postgresLoss}, {"course", courses}, {"nginx", nginxLoss}, {"processes", processes}, {"stops", stops}, {"scale", scale}, {"large", large}}

func main() {
	out := flag.String("o", "bench.json", "file to write")
	rounds := flag.Int("rounds", 5, "how often probed and bare rounds alternate; the median counts")
	only := flag.String("only", "", "parts to run, with commas between them; all if empty")
	bystander := flag.Float64("bystander", 0, "measure nothing, but use so much of a processor for -span, as whatever runs beside a server does")
	flag.Parse()
	if *bystander > 0 {
		standBy(*bystander, *span)
		return
	}
	leaveOnSignal()
	if err := run(*out, *rounds, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(out string, rounds int, only string) error {
	var r Result
	for _, p := range parts {
		if only != "" && !slices.Contains(strings.Split(only, ","), p.name) {
			continue
		}
		if err := p.run(&r, rounds); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	fmt.Println(string(text))
	return os.WriteFile(out, append(text, '\n'), 0o644)
}

// skip says that the machine lacks what a part needs; its fields stay null.
func skip(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
}

func median(v []float64) float64 {
	s := append([]float64(nil), v...)
	sort.Float64s(s)
	return s[len(s)/2]
}
