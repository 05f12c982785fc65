package browse

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"

	"culprit/consultant"
	"culprit/session/report"
)

// lines makes what the body shows.
func (a *app) lines(w, h int) []line {
	switch a.view {
	case viewTree:
		return a.treeLines(w)
	case viewEvidence:
		return a.evidenceLines(w, h)
	case viewHelp:
		return a.helpLines(w)
	case viewWatched:
		return a.watchedLines(w)
	}
	return a.verdictLines(w)
}

func (a *app) header(w int) []item {
	name := "no target"
	if ts := a.snap.Targets; len(ts) > 0 {
		name = fmt.Sprintf("%s{%d}", clean(filepath.Base(ts[0].Exe)), ts[0].PID)
		if len(ts) > 1 {
			name += fmt.Sprintf(" +%d", len(ts)-1)
		}
		if slices.ContainsFunc(ts, report.Target.OnlyLooked) {
			name += " by samples"
		}
		if a.snap.Ended {
			name += " ENDED"
		}
	}
	if n := len(a.snap.Phases); n > 0 && a.snap.Phases[n-1].End == nil {
		name += fmt.Sprintf(", phase %s since %s", a.snap.Phases[n-1].Name, seconds(float64(a.snap.Phases[n-1].Start)))
	}
	right := fmt.Sprintf(" %s  cost %.2f of %.3g %% ", seconds(a.snap.Elapsed), 100*min(a.snap.Observed, 1), 100*a.snap.Budget)
	left := " culprit  " + name
	if w < 50 {
		left = " " + name
	}
	return []item{{0, fit(left, w-width(right), a.theme.cutMark())}, {0, right}}
}

func (a *app) footer(w int) []item {
	if a.message != "" && time.Now().Before(a.until) {
		return []item{{0, " " + a.message}}
	}
	items := []item{{'1', " 1 Verdict "}, {'2', " 2 Search "}, {'?', " ? Help "}, {'q', " q Quit "}}
	if len(a.snap.Watched) > 0 {
		items = slices.Insert(items, 2, item{'3', " 3 Watched "})
	}
	if a.view == viewTree || a.view == viewEvidence {
		items = append(items, item{'x', " x expand "}, item{'p', " p prune "}, item{'r', " r re-test "})
	}
	if w < 50 {
		for i := range items {
			items[i].text = strings.TrimRight(items[i].text, " ")
		}
	}
	return items
}

func (a *app) verdictLines(w int) []line {
	v := newVerdict(a.snap)
	var out []line
	if len(v.Lines) == 0 {
		said := " No bottleneck found so far."
		if len(v.Earlier) > 0 {
			said = " No bottleneck now."
		}
		if !a.snap.Searching {
			said = " The search is off (--no-search)."
		}
		out = append(out, text(a.theme.bold(), said, 0), line{})
	}
	for i, l := range v.Lines {
		out = append(out, a.verdictLine(l, i+1, w)...)
	}
	out = append(out, labelled(a.theme, "Now: ", v.Now, w)...)
	out = append(out, a.paragraphs(" Nothing to do:", v.Idle, w)...)
	out = append(out, a.paragraphs(" True as well, but explained by another finding, or with little to gain:", v.Notes, w)...)
	if c := a.snap.Cycle; c != nil {
		out = append(out, a.paragraphs(" Again and again:", []string{c.Text(report.Number(a.snap.Elapsed))}, w)...)
	}
	told, earlier := report.LatestPhases(a.snap.Phases)
	for _, p := range told {
		heading, lines := p.Text()
		out = append(out, a.paragraphs(" "+heading, lines, w)...)
	}
	if earlier > 0 {
		out = append(out, line{}, text(a.theme.plain(), fmt.Sprintf(" Phases before these: %d", earlier), 0))
	}
	out = append(out, a.paragraphs(" Earlier, and over:", v.Earlier, w)...)
	if len(v.RuledOut) > 0 {
		out = append(out, line{}, text(a.theme.bold(), " Ruled out:", 0))
		for _, r := range v.RuledOut {
			out = append(out, text(a.theme.state(consultant.False), cut("   "+r, w, a.theme.cutMark()), 0))
		}
	}
	if v.NotHere != "" {
		out = append(append(out, line{}), labelled(a.theme, "Does not apply here: ", v.NotHere, w)...)
	}
	return append(out, a.paragraphs(" Not concluded:", v.Open, w)...)
}

func text(style tcell.Style, s string, key int) line { return line{key, []span{{s, style}}} }

// labelled is a wrapped paragraph after a label.
func labelled(t theme, label, s string, w int) []line {
	var out []line
	for i, part := range wrap(s, w-width(label)-2) {
		if i > 0 {
			label = strings.Repeat(" ", width(label))
		}
		out = append(out, line{0, []span{{" " + label, t.bold()}, {part, t.plain()}}})
	}
	return out
}

// verdictLine is one bottleneck: its sentence, and below it severity, values over time and age.
func (a *app) verdictLine(l verdictLine, n, w int) []line {
	number := fmt.Sprintf(" %d. ", n)
	var out []line
	for _, part := range wrap(l.Sentence, w-width(number)-1) {
		out = append(out, line{l.Node, []span{{number, a.theme.bold()}, {part, a.theme.bold()}}})
		number = strings.Repeat(" ", width(number))
	}
	barWidth := min(20, max(4, w/6))
	spans := []span{
		{number, a.theme.plain()}, {a.severity(l.Severity, barWidth), a.theme.state(consultant.True)},
		{fmt.Sprintf(" %3.0f %%  ", 100*l.Severity), a.theme.plain()},
	}
	if room := w - 4 - barWidth - 8 - width(l.Age) - 4; room >= 8 && len(l.Values) > 0 {
		spans = append(spans, span{a.spark(l.Values, min(room, 40)), a.theme.state(consultant.True)}, span{"  ", a.theme.plain()})
	}
	spans = append(spans, span{l.Age, a.theme.plain()})
	return append(out, line{l.Node, spans}, line{})
}

// paragraphs are wrapped texts below a heading; nothing if there are none.
func (a *app) paragraphs(heading string, texts []string, w int) []line {
	if len(texts) == 0 {
		return nil
	}
	out := []line{{}, text(a.theme.bold(), heading, 0)}
	for _, t := range texts {
		for _, part := range wrap(t, w-5) {
			out = append(out, text(a.theme.plain(), "   "+part, 0))
		}
	}
	return out
}

func (a *app) treeLines(w int) []line {
	if len(a.snap.Nodes) == 0 {
		return append([]line{text(a.theme.bold(), " Nothing has been tested yet.", 0), {}}, labelled(a.theme, "Now: ", nowText(a.snap), w)...)
	}
	rows, cut := newGraph(a.snap.Nodes).rows(a.closed)
	out := make([]line, 0, len(rows)+1)
	for _, r := range rows {
		out = append(out, a.treeLine(r, w))
	}
	if cut {
		out = append(out, text(a.theme.bold(), fmt.Sprintf(" More than %d lines: fold some with the left arrow.", maxRows), 0))
	}
	return out
}

func (a *app) treeLine(r row, w int) line {
	style := a.theme.state(r.State)
	indent := strings.Repeat("  ", min(r.Depth, max(0, w/2-6)/2))
	head := []span{
		{" " + indent, a.theme.plain()}, {a.theme.fold(r) + " ", a.theme.axis(r.Axis)}, {string(letter(r.State)) + " ", style},
	}
	used := 1 + width(indent) + 4
	name, value := r.Text, r.Value
	if r.Shadow {
		name += " (shown above)"
	}
	valueWidth := min(width(value), (w-used)/2)
	if w < 50 {
		valueWidth = 0
	}
	key := r.Node
	if r.Shadow {
		key = 0
	}
	head = append(head, span{fit(name, w-used-valueWidth-2, a.theme.cutMark()), style})
	if valueWidth > 0 {
		head = append(head, span{" " + fit(value, valueWidth, a.theme.cutMark()), a.theme.plain()})
	}
	return line{key, head}
}

func (a *app) evidenceLines(w, h int) []line {
	n := a.nodeOf(a.node)
	if n == nil {
		return []line{text(a.theme.bold(), " This node is not there any more.", 0)}
	}
	e := newEvidence(n, a.snap.Elapsed)
	var out []line
	for _, part := range wrap(e.Title, w-2) {
		out = append(out, text(a.theme.bold(), " "+part, 0))
	}
	for _, f := range e.Facts {
		for _, part := range wrap(f, w-4) {
			out = append(out, text(a.theme.plain(), "  "+part, 0))
		}
	}
	out = append(out, line{})
	if len(e.Values) == 0 {
		return append(out, text(a.theme.plain(), "  No value was measured yet.", 0))
	}
	return append(out, a.plotLines(e, w-2, max(4, h-len(out)-1))...)
}

var helpText = []string{
	"1, 2, Tab      the verdict; the search history graph",
	"3              the metrics that --watch names",
	"up, down, j, k choose; PgUp, PgDn, Home, End, mouse wheel",
	"Enter          the evidence of the chosen node; Esc goes back",
	"space          fold and unfold a node of the tree (also left, right)",
	"x              expand: test the refinements of the node now",
	"p              prune: leave the node and all below it out",
	"r              re-test the node",
	"n              a new phase: from now on a search of its own",
	"q, Ctrl-C      quit: probes are removed, the answer is printed,",
	"               and the target goes on",
	"",
	"States: T true  F false  t testing  q queued  d deferred",
	"        R refused  $ over budget  p pruned  . never tested",
	"A node with several parents is shown once in full; elsewhere it is",
	"a shadow.",
}

func (a *app) helpLines(w int) []line {
	out := []line{text(a.theme.bold(), " Keys", 0)}
	for _, s := range helpText {
		out = append(out, text(a.theme.plain(), cut("  "+s, w, a.theme.cutMark()), 0))
	}
	return out
}
