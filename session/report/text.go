package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"
)

// maxLines bounds each list of the answer; what is left out is counted.
const maxLines = 12

// WriteText prints the answer for people: sentences, worst first, then what was ruled out, what was not tested, what it
// cost and what became of the probes.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	r.writeHead(&b)
	r.writeHistory(&b)
	r.writeBottlenecks(&b)
	r.writeNotes(&b)
	r.writePhases(&b)
	r.writeEarlier(&b)
	r.writeJobs(&b)
	r.writePairs(&b)
	r.writeRuledOut(&b)
	r.writeUntested(&b)
	r.writeCost(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) writeBottlenecks(b *strings.Builder) {
	if r.NotSearched {
		b.WriteString("No search was made (--no-search).\n")
		return
	}
	if len(r.Bottlenecks) == 0 {
		r.writeNone(b)
		return
	}
	advised := map[string]bool{} // each advice is given once, where it is needed first
	for i, n := range r.Bottlenecks {
		fmt.Fprintf(b, "%d. %s\n", i+1, n.Sentence)
		if c := r.Chain(n.Chain); c != "" {
			fmt.Fprintf(b, "   found by: %s\n", c)
		}
		if note := r.Node(n.Node).Note; note != "" {
			fmt.Fprintf(b, "   warning: %s\n", note)
		}
		if n.Advice != "" && !advised[n.Advice] {
			advised[n.Advice] = true
			fmt.Fprintf(b, "   advice: %s\n", n.Advice)
		}
	}
}

// writeNone says that there is no bottleneck, as far as that is known, and what the threads did instead.
func (r *Report) writeNone(b *strings.Builder) {
	if r.allStopped() {
		found := "No bottleneck found"
		if !r.tested() {
			found = "Nothing could be tested"
		}
		b.WriteString(found + ". But the program is stopped or frozen: nothing is known of what it does when it runs.\n")
		return
	}
	if !r.tested() {
		b.WriteString("Nothing could be tested. It is not known whether there is a bottleneck. Why stands below.\n")
		return
	}
	if r.mostlyUnmeasured() {
		fmt.Fprintf(b, "No bottleneck found in what could be measured. But %.0f %% of the CPU time was used by processes that ended too soon for that: it is not known what is slow in them.\n", 100*float64(r.NotMeasuredShare))
	} else if n := r.unanswered(); n > 0 {
		fmt.Fprintf(b, "No bottleneck found so far. But %d %s about the whole program %s not answered. Why stands below.\n", n, plural(n, "question"), isAre(n))
	} else if b.WriteString("No bottleneck found.\n"); len(r.Earlier) > 0 {
		b.WriteString("What was found before is over: see below.\n")
	}
	r.writeIdle(b)
}

// writeNotes tells what was found and is no bottleneck, since little would be gained by mending it.
func (r *Report) writeNotes(b *strings.Builder) {
	if len(r.Notes) == 0 {
		return
	}
	b.WriteString("\nTrue as well, but explained by another finding, or with little to gain:\n")
	var lines []string
	for _, n := range r.Notes {
		lines = append(lines, "  "+n.Sentence+r.explained(n.ExplainedBy))
	}
	writeSome(b, lines)
}

// writeEarlier tells what was found and is over.
func (r *Report) writeEarlier(b *strings.Builder) {
	if len(r.Earlier) == 0 {
		return
	}
	b.WriteString("\nEarlier, and over:\n")
	var lines []string
	for _, e := range r.Earlier {
		lines = append(lines, "  "+e.Sentence)
	}
	writeSome(b, lines)
}

// explained names the finding that a note is explained by.
func (r *Report) explained(node int) string {
	if node == 0 {
		return ""
	}
	return ExplainedText(slices.IndexFunc(r.Bottlenecks, func(b Bottleneck) bool { return b.Node == node }))
}

// ExplainedText says by which finding of a list a wait is explained; below 0 it is one of the notes.
func ExplainedText(finding int) string {
	if finding < 0 {
		return " The threads wait for others in this list."
	}
	return fmt.Sprintf(" The threads wait for what finding %d tells.", finding+1)
}

// unanswered is how many hypotheses about the whole program have no verdict: they came to none, or it is in doubt now.
func (r *Report) unanswered() (n int) {
	for i := range r.Nodes {
		one := &r.Nodes[i]
		if open := slices.ContainsFunc(untested, func(u state) bool { return u.state == one.State }); open && len(one.Focus) == 0 && one.State != "pruned" && !one.ofPhase() {
			n++
		}
	}
	return n
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// Unknown reports whether no bottleneck was found in a search that left a question about the whole program open, or of a program that is stopped, or that
// leaves its work to processes that nobody could measure: then it is not known that there is none.
func (r *Report) Unknown() bool {
	return !r.NotSearched && len(r.Bottlenecks) == 0 && (!r.tested() || r.unanswered() > 0 || r.allStopped() || r.mostlyUnmeasured())
}

// AsksInVain reports whether nothing was measured of all that was asked for by its name, and nothing else was looked for. A star may stand for nothing.
func (r *Report) AsksInVain() bool {
	asked := slices.DeleteFunc(slices.Clone(r.Pairs), func(p Pair) bool { return !p.Asked || p.Focus.hasStar() })
	return r.NotSearched && len(asked) > 0 && !slices.ContainsFunc(asked, func(p Pair) bool { return p.Error == "" })
}

// muchUnmeasured is from which share on of CPU time that nothing is known of there is no answer about the whole.
const muchUnmeasured = 0.3

func (r *Report) mostlyUnmeasured() bool { return r.NotMeasuredShare >= muchUnmeasured }

// tested reports whether any hypothesis came to a verdict.
func (r *Report) tested() bool {
	return slices.ContainsFunc(r.Nodes, func(n Node) bool {
		return (n.State == "true" || n.State == "false") && n.Hypothesis != Root && !n.ofPhase()
	})
}

// Node is the node of a number; an empty one if there is none.
func (r *Report) Node(id int) Node {
	if n := r.NodeOf(id); n != nil {
		return *n
	}
	return Node{}
}

// NodeOf is the node of a number in the report itself; nil if there is none.
func (r *Report) NodeOf(id int) *Node {
	if id >= 1 && id <= len(r.Nodes) && r.Nodes[id-1].ID == id {
		return &r.Nodes[id-1]
	}
	for i := range r.Nodes {
		if r.Nodes[i].ID == id {
			return &r.Nodes[i]
		}
	}
	return nil
}

// Chain writes how the search came to a node, whose way from the root is ids: each step names only what it changed. It is "" for a way of one step.
func (r *Report) Chain(ids []int) string {
	byID := make(map[int]*Node, len(r.Nodes))
	for i := range r.Nodes {
		byID[r.Nodes[i].ID] = &r.Nodes[i]
	}
	var parts []string
	var before Focus
	for _, id := range ids {
		n := byID[id]
		if n == nil || len(n.Parents) == 0 {
			continue
		}
		if n.Axis == "where" {
			parts = append(parts, n.Focus.without(before).String())
		} else {
			parts = append(parts, n.Hypothesis)
		}
		before = n.Focus
	}
	if len(parts) < 2 {
		return ""
	}
	return strings.Join(parts, " > ")
}

// without leaves out the parts that are the same in another focus.
func (f Focus) without(g Focus) Focus {
	out := Focus{}
	for h, path := range f {
		if g[h] != path {
			out[h] = path
		}
	}
	return out
}

// String writes the focus as the command line does: paths with commas between, "/" for the whole program.
func (f Focus) String() string {
	if len(f) == 0 {
		return "/"
	}
	paths := make([]string, 0, len(f))
	for _, p := range f {
		paths = append(paths, p)
	}
	sort.Strings(paths)
	return strings.Join(paths, ",")
}

func amount(f float64) string {
	if f != f {
		return "-"
	}
	if f == float64(int64(f)) && f < 1e15 && f > -1e15 {
		return fmt.Sprintf("%d", int64(f))
	}
	return fmt.Sprintf("%.4g", f)
}

const (
	decided = 0.75 // confidence from which on something is ruled out, however close to its threshold it is
	near    = 2.0  // times: what is further from its threshold is not close to it, however short the time was in which that was seen
)

// isClose tells that a test does not hold, and that it is not sure whether it will.
func (n *Node) isClose() bool {
	value, threshold := float64(n.Value), float64(n.Threshold)
	if n.Samples == 0 || float64(n.Confidence) >= decided || n.noValue() != "" {
		return false
	}
	return n.Greater && value*near > threshold || !n.Greater && value < near*threshold
}

func (r *Report) writeRuledOut(b *strings.Builder) {
	var lines, closest, notHere []string
	deeper := 0
	for i := range r.Nodes {
		n := &r.Nodes[i]
		whole := len(n.Focus) == 0
		switch {
		case n.State != "false" || n.ofPhase():
		case !n.applies():
			if whole {
				notHere = append(notHere, n.Hypothesis)
			}
		case whole && n.isClose():
			closest = append(closest, fmt.Sprintf("  %s: %s%s", n.Hypothesis, n.Evidence(), r.untilWhen(n)))
		case whole:
			lines = append(lines, fmt.Sprintf("  %s: %s%s", n.Hypothesis, n.Evidence(), r.untilWhen(n)))
		default:
			deeper++
		}
	}
	heading := "Ruled out"
	if r.allStopped() {
		heading = "Below the threshold, with the program stopped or frozen for some or all of the time"
	}
	writeFalse(b, heading, lines, deeper)
	if len(closest) > 0 {
		b.WriteString("\nNot beyond the threshold, but close to it:\n")
		writeSome(b, closest)
	}
	if len(notHere) > 0 {
		fmt.Fprintf(b, "\nDoes not apply here: %s.\n", strings.Join(notHere, ", "))
	}
}

// longAgo is how long before the end a value was measured last of which it is said when that was, in s.
const longAgo = 10

// untilWhen says that the hypothesis of a node held earlier, as is told elsewhere, and until when the node was measured, where that is long before the
// end: the program may have begun to behave otherwise since.
func (r *Report) untilWhen(n *Node) string {
	if len(n.Tests) == 0 {
		return ""
	}
	text := ""
	if slices.ContainsFunc(r.Earlier, func(e Earlier) bool { return e.Hypothesis == n.Hypothesis }) {
		text = "; it held earlier"
	}
	last := n.Tests[len(n.Tests)-1]
	if until := float64(last.Begin + last.Seconds); float64(r.Seconds)-until >= longAgo {
		text += fmt.Sprintf("; measured until %.0f s", until)
	}
	return text
}

func writeFalse(b *strings.Builder, heading string, lines []string, deeper int) {
	if len(lines) == 0 && deeper == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", heading)
	writeSome(b, lines)
	if deeper > 0 {
		fmt.Fprintf(b, "  and %d %s at single functions, threads or objects\n", deeper, hypotheses(deeper))
	}
}

func writeSome(b *strings.Builder, lines []string) {
	for i, l := range lines {
		if i == maxLines {
			fmt.Fprintf(b, "  and %d more\n", len(lines)-i)
			return
		}
		fmt.Fprintln(b, l)
	}
}

// Evidence is the value of a node against its threshold with how sure it is, and what it does not tell of, on one line.
func (n *Node) Evidence() string {
	if n.Note != "" {
		return n.basis() + "; warning: " + n.Note
	}
	return n.basis()
}

func (n *Node) basis() string {
	if n.Samples == 0 {
		if n.Reason != "" {
			return n.Reason
		}
		return "no value"
	}
	if why := n.noValue(); why != "" {
		return fmt.Sprintf("%s (%s)", why, readings(n.Samples))
	}
	return fmt.Sprintf("%s (threshold %s %s, %s, %s sure)", n.Quantity(),
		relation(n.Greater), Quantity(float64(n.Threshold), n.Unit), readings(n.Samples), Surety(float64(n.Confidence)))
}

// Quantity is the value of a node with its unit, as people hear it.
func (n *Node) Quantity() string { return Quantity(Told(float64(n.Value), n.Share), n.Unit) }

func readings(n int) string { return fmt.Sprintf("%d %s", n, plural(n, "reading")) }

const notHere = "it does not apply here"

func (n *Node) noValue() string {
	return NoValue(n.Greater, float64(n.Value), float64(n.Threshold))
}

// NoValue says why a test has no value to show: a value that is the threshold itself stands for one that it could not judge. It is "" if there is one.
func NoValue(greater bool, value, threshold float64) string {
	switch {
	case value != threshold:
		return ""
	case greater:
		return notHere
	}
	return "too little happened"
}

// DoesNotApply tells whether a test that was made has no verdict of its own, since it is none for a program such as this: its value is the threshold
// itself.
func DoesNotApply(greater bool, value, threshold float64, samples int) bool {
	return samples > 0 && NoValue(greater, value, threshold) == notHere
}

func (n *Node) applies() bool {
	return !DoesNotApply(n.Greater, float64(n.Value), float64(n.Threshold), n.Samples)
}

// Surety writes a confidence from 0 to 1 rounded down, so that nothing is ever 100 % sure.
func Surety(c float64) string { return fmt.Sprintf("%d %%", int(min(100*c, 99))) }

func relation(greater bool) string {
	if greater {
		return ">"
	}
	return "<"
}

// Told is a value of a test as people hear it: a part is never more than its whole, whatever the measurement erred.
func Told(v float64, share bool) float64 {
	if share {
		return min(v, 1)
	}
	return v
}

// Quantity writes a value with its unit; fractions are written in per cent.
func Quantity(v float64, unit string) string {
	switch unit {
	case "fraction", "s/s":
		return fmt.Sprintf("%.1f %%", 100*v)
	case "":
		return amount(v)
	}
	return amount(v) + " " + unit
}

// A state of a node and how it is told.
type state struct{ state, say string }

// untested are the states of nodes that the search did not conclude, in the order in which they are told.
var untested = []state{
	{"overbudget", "too expensive for the budget"},
	{"refused", "could not be instrumented safely"},
	{"deferred", "could not be instrumented at the time"},
	{"testing", "still being tested"},
	{"queued", "still waiting to be tested"},
	{"never", "never tested"},
	{"pruned", "pruned"},
}

func (r *Report) writeUntested(b *strings.Builder) {
	counts := map[string]int{}
	var first []string // of the first level: the questions themselves
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if n.ofPhase() {
			continue
		}
		open := slices.ContainsFunc(untested, func(u state) bool { return u.state == n.State })
		if open && len(n.Focus) == 0 && n.Reason != "" {
			first = append(first, fmt.Sprintf("  %s: %s%s", n.Hypothesis, n.soFar(), n.Reason))
			continue
		}
		counts[n.State]++
	}
	var parts []string
	for _, u := range untested {
		if n := counts[u.state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, u.say))
		}
	}
	switch {
	case len(parts) > 0:
		fmt.Fprintf(b, "\nNot concluded: %s.\n", strings.Join(parts, ", "))
	case len(first) > 0:
		b.WriteString("\nNot concluded:\n")
	}
	writeSome(b, first)
}

// soFar is the value that a test has until now, before what is said of it; "" if it has none.
func (n *Node) soFar() string {
	if n.State != "testing" || n.Samples == 0 {
		return ""
	}
	if why := n.noValue(); why != "" {
		return why + " so far: "
	}
	return fmt.Sprintf("%s so far (threshold %s %s): ", n.Quantity(), relation(n.Greater), Quantity(float64(n.Threshold), n.Unit))
}

// shortSession is until when the attach and the first probes are most of what a session costs, in s.
const shortSession = 60

// beyond says that the budget was exceeded, and by what.
func (r *Report) beyond() string {
	switch {
	case r.Overhead.Observed <= r.Overhead.Budget:
		return ""
	case len(r.Pairs) > 0:
		return ", exceeded: what --watch chooses is measured at any price"
	case r.Seconds < shortSession:
		return ", exceeded: in a short session the first probes weigh most"
	}
	return ", exceeded"
}

// refusals are the functions that were refused, each once: some were found out when probes were to be inserted, others when the search asked for a price.
func (r *Report) refusals() []Refusal {
	all, known := slices.Clone(r.Probes.Refused), map[string]bool{}
	for _, f := range all {
		known[f.Function] = true
	}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if name := strings.TrimPrefix(n.Focus["Code"], "/Code/"); (n.Refused != "" || n.State == "refused") && name != "" && !known[name] {
			known[name] = true
			all = append(all, Refusal{Function: name, Reason: cmp.Or(n.Refused, n.Reason)})
		}
	}
	return all
}

// worthTelling is the share of the machine that others must have missed for the loss to be told.
const worthTelling = 0.005

// lostText says what the target lost where the tool took CPUs that were not idle.
func (o *Overhead) lostText() string {
	if o.Taken < worthTelling || o.Lost-o.Observed < worthTelling {
		return ""
	}
	return fmt.Sprintf(", some of that or all while no CPU was idle: with that the program lost about %.0f %% of its work", 100*float64(o.Lost))
}

func (r *Report) writeCost(b *strings.Builder) {
	o, p, refused := r.Overhead, r.Probes, r.refusals()
	fmt.Fprintf(b, "\nOverhead: %.2f %% of the target's time (budget %.3g %%%s); %s; the tool used %.1f %% of a CPU%s.\n",
		100*Told(float64(o.Observed), true), 100*float64(o.Budget), r.beyond(), pauseText(o.Pauses), 100*float64(o.DaemonCPU), o.lostText())
	if r.End == Running {
		fmt.Fprintf(b, "Probes: %d inserted so far, %d of them removed; functions refused: %d; the session goes on.\n", p.Inserted, p.Removed, len(refused))
	} else {
		gone := ""
		if p.Gone > 0 {
			gone = fmt.Sprintf(", %d gone with processes that ended", p.Gone)
		}
		fmt.Fprintf(b, "Probes: %d inserted, %d removed, %d left%s; functions refused: %d%s\n", p.Inserted, p.Removed, p.Left, gone,
			len(refused), r.cleanText())
	}
	writeRefused(b, refused)
}

// writeRefused says why functions were not instrumented: the reasons that most of them have, each with a function that has it.
func writeRefused(b *strings.Builder, refused []Refusal) {
	const most = 3
	count, first := map[string]int{}, map[string]string{}
	for _, r := range refused {
		reason := strings.TrimPrefix(r.Reason, r.Function+", ")
		if count[reason]++; count[reason] == 1 {
			first[reason] = r.Function
		}
	}
	reasons := slices.SortedFunc(maps.Keys(count), func(a, b string) int { return cmp.Or(count[b]-count[a], strings.Compare(a, b)) })
	for _, reason := range reasons[:min(len(reasons), most)] {
		name := first[reason]
		if n := count[reason] - 1; n > 0 {
			name += fmt.Sprintf(" and %d more", n)
		}
		fmt.Fprintf(b, "  refused: %s: %s\n", name, reason)
	}
	if n := len(reasons) - most; n > 0 {
		fmt.Fprintf(b, "  and for %d other %s (see --json)\n", n, plural(n, "reason"))
	}
}

func pauseText(p Pauses) string {
	if p.Count == 0 {
		return "no pauses"
	}
	text := fmt.Sprintf("%d %s, the longest %.1f ms, %.1f ms together", p.Count, plural(p.Count, "pause"), float64(p.MaxUS)/1000, float64(p.TotalUS)/1000)
	if p.CutTransfers > 0 {
		text += fmt.Sprintf(", which cut %d blocking %s short", p.CutTransfers, plural(p.CutTransfers, "transfer"))
	}
	return text
}

// cleanText says whether the targets that still run are as before; of one that has ended there is nothing to say.
func (r *Report) cleanText() string {
	for _, t := range r.Targets {
		switch {
		case t.Ended, t.OnlyLooked():
		case !r.RemovedClean:
			return fmt.Sprintf("; the target could NOT be verified to be as before: culprit restore %d", t.PID)
		default:
			return "; the code of the target is as it was."
		}
	}
	return "."
}

func hypotheses(n int) string {
	if n == 1 {
		return "hypothesis"
	}
	return "hypotheses"
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
