// Command bench measures what instrumentation costs on this machine, in one run, and writes bench.json.
//
// Everything is a difference or stands beside its limit: absolute times of one machine say little. Each figure of a call is
// the least of many short rounds, and probed and bare rounds alternate.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
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
	bystander := flag.Float64("bystander", 0, "measure nothing, but use so much of a CPU for -span, as whatever runs beside a server does")
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

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(max(len(v), 1))
}

// certain is the interval that has the mean of what v are samples of with 95 % certainty, by Student's t. There are two samples at least.
func certain(v []float64) (from, to float64) {
	n := len(v)
	m, squares := mean(v), 0.0
	for _, x := range v {
		squares += (x - m) * (x - m)
	}
	half := student(n-1) * math.Sqrt(squares/float64(n-1)/float64(n))
	return m - half, m + half
}

// student is the 97.5 % quantile of Student's t with so many degrees of freedom: the first ones from tables, the others by the expansion around
// that of the normal distribution, right to 0.1 %.
func student(freedom int) float64 {
	table := []float64{12.706, 4.303, 3.182, 2.776}
	if freedom <= len(table) {
		return table[freedom-1]
	}
	const z = 1.959964
	f := float64(freedom)
	return z + (z*z*z+z)/(4*f) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*f*f)
}
