package report

import (
	"fmt"
	"strings"
)

// A PhaseAnswer is a phase that somebody has begun, or the program itself, and what holds in it.
type PhaseAnswer struct {
	Phase
	Because     string       `json:"because,omitempty"` // what changed when it began; "" if somebody began it
	Bottlenecks []Bottleneck `json:"bottlenecks"`
	Notes       []Bottleneck `json:"notes,omitempty"`
	RuledOut    int          `json:"ruled_out"` // hypotheses about the whole program that do not hold in it
	Open        int          `json:"open"`      // hypotheses about the whole program that came to no answer in it
}

// Text is what holds in the phase: a line that names it, then one for each finding.
func (a PhaseAnswer) Text() (heading string, lines []string) {
	heading = fmt.Sprintf("In phase %s, from %.1f s", a.Name, float64(a.Start))
	if a.End != nil {
		heading += fmt.Sprintf(" to %.1f s", float64(*a.End))
	}
	if a.Because != "" {
		heading += " (" + a.Because + ")"
	}
	for i, b := range a.Bottlenecks {
		lines = append(lines, fmt.Sprintf("%d. %s", i+1, b.Sentence))
	}
	switch {
	case len(lines) > 0:
	case a.Open > 0:
		lines = append(lines, fmt.Sprintf("No bottleneck found in it. But %d %s about the whole program %s not answered in it.", a.Open, plural(a.Open, "question"), isAre(a.Open)))
	case a.RuledOut > 0:
		lines = append(lines, fmt.Sprintf("No bottleneck found in it: %d %s ruled out.", a.RuledOut, hypotheses(a.RuledOut)))
	default:
		lines = append(lines, "Nothing was tested in it.")
	}
	return heading + ":", lines
}

// A Cycle is what the program did again and again.
type Cycle struct {
	Seconds Number `json:"seconds"` // how long one takes
	From    Number `json:"from"`    // s since the session started; when it was seen first
	To      Number `json:"to"`      // when it was seen last
	What    string `json:"what"`    // what changes most in it, and between which values
}

// Text is the cycle as a sentence, for a reader at a time in s since the session started.
func (c Cycle) Text(now Number) string {
	did, until := "does", ""
	if now > c.To+c.Seconds {
		did, until = "did", fmt.Sprintf(" to %.1f s", float64(c.To))
	}
	return fmt.Sprintf("The program %s the same again every %.1f s, from %.1f s%s: %s.", did, float64(c.Seconds), float64(c.From), until, c.What)
}

// LatestPhases are the phases that are told, and how many before them are not.
func LatestPhases(all []PhaseAnswer) (told []PhaseAnswer, earlier int) {
	earlier = max(len(all)-maxLines, 0)
	return all[earlier:], earlier
}

// writePhases tells what the program does again and again, and what holds in the phases.
func (r *Report) writePhases(b *strings.Builder) {
	if r.Cycle != nil {
		fmt.Fprintf(b, "\n%s\n", r.Cycle.Text(r.Seconds))
	}
	told, earlier := LatestPhases(r.Phases)
	if earlier > 0 {
		fmt.Fprintf(b, "\n%d earlier %s not listed: see --json.\n", earlier, plural(earlier, "phase"))
	}
	for _, a := range told {
		heading, lines := a.Text()
		fmt.Fprintf(b, "\n%s\n", heading)
		for i, l := range lines {
			lines[i] = "  " + l
		}
		writeSome(b, lines)
	}
}

// ofPhase tells that the node belongs to a phase and not to the whole session.
func (n *Node) ofPhase() bool { return n.Phase.Name != "" && n.Phase.Name != "global" }
