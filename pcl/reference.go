package pcl

import (
	"fmt"
	"slices"
	"strings"

	"culprit/pcl/syntax"
)

// Doc is the reference of everything that is loaded, as Markdown.
func (l *Library) Doc() string { return l.doc(func(syntax.Pos) bool { return true }) }

// DocOf is the reference of what stands in these files, which were loaded by these names.
func (l *Library) DocOf(files ...string) string {
	return l.doc(func(p syntax.Pos) bool { return p.File != nil && slices.Contains(files, p.File.Name) })
}

// doc writes the reference of the definitions whose place is wanted. Sections without any are left out.
func (l *Library) doc(wanted func(syntax.Pos) bool) string {
	var sb strings.Builder
	sb.WriteString("# Metrics, hypotheses and constants\n\n")
	where := l.places()
	section(&sb, "## Metrics\n\n", l.defs.Metrics, func(m *Metric) bool { return wanted(m.Def.Pos) }, (*Metric).doc)
	section(&sb, "## Hypotheses\n\n", l.defs.Hypotheses, func(h *Hypothesis) bool { return wanted(where["hypothesis "+h.Name]) }, (*Hypothesis).doc)
	section(&sb, "## Tunable constants\n\n| name | value |\n|---|---|\n", l.Tunables(), func(name string) bool { return wanted(l.defs.Tunables.at[name]) }, func(name string, sb *strings.Builder) {
		v, _ := l.Tunable(name)
		fmt.Fprintf(sb, "| %s | %g |\n", name, v)
	})
	section(&sb, "\n## Constraints\n\n| name | path | how |\n|---|---|---|\n", l.defs.Constraints, func(c *Constraint) bool { return wanted(c.Pos) }, func(c *Constraint, sb *strings.Builder) {
		fmt.Fprintf(sb, "| %s | `%s` | %s |\n", c.Ident, c.PathText(), c.How())
	})
	section(&sb, "\n## Hierarchies\n\n| item | stands for |\n|---|---|\n", l.defs.Groupings, func(g Grouping) bool { return wanted(where["hierarchy "+g.Name]) }, Grouping.doc)
	section(&sb, "\n## Resource lists\n\n", l.defs.Listed, func(x *List) bool { return wanted(where["resourceList "+x.Name]) }, (*List).doc)
	section(&sb, "\n## Expectations\n\n", l.defs.Expects, func(x Expect) bool { return wanted(where["expect "+x.Name]) }, Expect.doc)
	return sb.String()
}

// places are where the definitions in force stand, by keyword and name.
func (l *Library) places() map[string]syntax.Pos {
	out := map[string]syntax.Pos{}
	for _, d := range l.defs.Trees {
		out[d.Keyword+" "+d.Name] = d.Pos
	}
	return out
}

// section writes a heading and those of a list that are wanted, nothing if there are none.
func section[T any](sb *strings.Builder, heading string, list []T, wanted func(T) bool, write func(T, *strings.Builder)) {
	first := true
	for _, x := range list {
		if !wanted(x) {
			continue
		}
		if first {
			sb.WriteString(heading)
			first = false
		}
		write(x, sb)
	}
}

func (l *List) doc(sb *strings.Builder) {
	var items []string
	for _, v := range l.Items {
		items = append(items, v.String())
	}
	fmt.Fprintf(sb, "- **%s** (%s): %s\n", l.Name, l.Kind, strings.Join(items, ", "))
}

func (x Expect) doc(sb *strings.Builder) {
	for i := range x.Of {
		not := ""
		if x.Of[i].Not {
			not = "not "
		}
		fmt.Fprintf(sb, "- **%s**: `%s%s`\n", x.Name, not, x.Of[i].Text)
	}
}

func (m *Metric) doc(sb *strings.Builder) {
	fmt.Fprintf(sb, "### %s\n\n", m.Name)
	fmt.Fprintf(sb, "Unit: %s (%s). Threads and processes are combined by %s.", m.RateUnits(), m.Style, m.Aggregate)
	if m.Developer {
		sb.WriteString(" For developers.")
	}
	sb.WriteString("\n\n")
	if m.Doc != "" {
		sb.WriteString(m.Doc + "\n\n")
	}
	base := "Counted by: " + KindText(m.Base.Kind, m.Base.Distribution)
	switch {
	case m.Base.Event != "":
		base = "Counted by the CPU or the kernel, as perf does: " + m.Base.Event
	case m.Base.Kind == Kernel:
		base = "Kept by the kernel: " + m.Base.Kernel
	}
	sb.WriteString(base + ".")
	if paths := m.paths(); len(paths) > 0 {
		sb.WriteString(" Can be restricted to what is chosen below: `" + strings.Join(paths, "`, `") + "`.")
	}
	sb.WriteString("\n\n")
}

func (h *Hypothesis) doc(sb *strings.Builder) {
	parent := h.Parent
	if parent == "" {
		parent = "top"
	}
	op := "below"
	if h.Greater {
		op = "above"
	}
	fmt.Fprintf(sb, "### %s\n\nParent: %s. Holds if its value is %s the threshold. Reads: %s.", h.Name, parent, op, strings.Join(h.Metrics, ", "))
	if where := h.Along(); len(where) > 0 {
		sb.WriteString(" Refined along: " + strings.Join(where, ", ") + ".")
	}
	fmt.Fprintf(sb, "\n\n> %s\n\n", h.Label)
	if h.Explain != "" {
		sb.WriteString(h.Explain + "\n\n")
	}
}
