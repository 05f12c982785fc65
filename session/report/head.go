package report

import (
	"fmt"
	"slices"
	"strings"
)

// The head of the text: which processes were measured, for how long, and what is known of them.

func (r *Report) writeHead(b *strings.Builder) {
	for i, t := range r.Targets {
		if i == maxLines {
			fmt.Fprintf(b, "and %d more processes\n", len(r.Targets)-i)
			break
		}
		fmt.Fprintf(b, "%s (pid %d%s), %d %s, watched for %s%s\n", t.Exe, t.PID, runtimeNote(t), t.Threads, plural(t.Threads, "thread"),
			r.watchedText(t), endNote(t))
		if t.Interprets != "" {
			fmt.Fprintf(b, "  it has an interpreter of %s: %s\n", t.Interprets, interpreted(t))
		}
		if t.Stopped {
			fmt.Fprintf(b, "  it is stopped by a signal, and does nothing until it is continued: kill -CONT %d\n", t.PID)
		}
		if t.Frozen != "" {
			fmt.Fprintf(b, "  it is frozen by its control group (%s), and does nothing until that is thawed\n", t.Frozen)
		}
		if t.Why != "" {
			fmt.Fprintf(b, "  measured by sampling only: %s\n", t.Why)
		}
	}
	if r.NotMeasured != "" {
		fmt.Fprintf(b, "  not measured: %s\n", r.NotMeasured)
	}
	b.WriteByte('\n')
}

// watchedText is how long a process was measured, and since when where it began late: other times count from the beginning of the session.
func (r *Report) watchedText(t Target) string {
	text := fmt.Sprintf("%.1f s", r.watched(t))
	if t.From >= 1 {
		text += fmt.Sprintf(" (from %.1f s on)", t.From)
	}
	if t.Before > 0 {
		text += fmt.Sprintf(" (what it did in its first %.2f s is not counted)", t.Before)
	}
	return text
}

// interpreted says what is told of the functions of a language that a process runs.
func interpreted(t Target) string {
	if t.NamesGenerated {
		return "stack samples distinguish those of its functions that are compiled and that the process names"
	}
	text := "functions of " + t.Interprets + " are not measured one by one, only those of the interpreter"
	if how := howToName[t.Interprets]; how != "" {
		text += "; " + how
	}
	return text
}

// howToName is what has a process name the functions that it compiles, by the language.
var howToName = map[string]string{
	"JavaScript": "node --perf-basic-prof has it name those that it compiles",
	"Java":       "java -XX:+PreserveFramePointer with jcmd PID Compiler.perfmap has it name those that it compiles",
}

// watched is for how long a process was measured, in s: those that were there at the beginning for the whole session.
func (r *Report) watched(t Target) float64 {
	if t.From < 1 && !t.Ended || t.To == 0 {
		return float64(r.Seconds)
	}
	return float64(t.To - t.From)
}

// languages are the names of runtimes as people write them.
var languages = map[string]string{"c": "C", "cxx": "C++", "go": "Go", "rust": "Rust"}

// runtimeNote says what a program is written in, if that is known.
func runtimeNote(t Target) string {
	if name := languages[t.Runtime]; name != "" {
		return ", " + name
	}
	return ""
}

func endNote(t Target) string {
	switch {
	case t.ExitCode != nil:
		return "; it ended with " + Ending(*t.ExitCode)
	case t.Became:
		return "; it became another program"
	case t.Ended:
		return "; it ended"
	}
	return ""
}

// allStopped reports whether all targets that live are stopped by a signal, or frozen.
func (r *Report) allStopped() bool {
	live := slices.DeleteFunc(slices.Clone(r.Targets), func(t Target) bool { return t.Ended })
	return len(live) > 0 && !slices.ContainsFunc(live, func(t Target) bool { return !t.Stopped && t.Frozen == "" })
}
