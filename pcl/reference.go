package pcl

import (
	"fmt"
	"strings"
)

// Doc is the reference of everything that is loaded, as Markdown.
func (l *Library) Doc() string {
	var sb strings.Builder
	sb.WriteString("# Metrics, hypotheses and constants\n\n## Metrics\n\n")
	for _, m := range l.metrics {
		m.doc(&sb)
	}
	sb.WriteString("## Hypotheses\n\n")
	for _, h := range l.hypotheses {
		h.doc(&sb)
	}
	sb.WriteString("## Tunable constants\n\n| name | value |\n|---|---|\n")
	for _, name := range l.Tunables() {
		v, _ := l.Tunable(name)
		fmt.Fprintf(&sb, "| %s | %g |\n", name, v)
	}
	sb.WriteString("\n## Constraints\n\n| name | path | how |\n|---|---|---|\n")
	for _, c := range l.constraints {
		fmt.Fprintf(&sb, "| %s | `%s` | %s |\n", c.ident, c.pathString(), c.how())
	}
	l.docHierarchies(&sb)
	sb.WriteString("\n## Resource lists\n\n")
	for _, x := range l.Lists() {
		fmt.Fprintf(&sb, "- **%s** (%s): %s\n", x.Name, x.Kind, strings.Join(x.Items, ", "))
	}
	return sb.String()
}

func (m *metric) doc(sb *strings.Builder) {
	fmt.Fprintf(sb, "### %s\n\n", m.Name)
	fmt.Fprintf(sb, "Unit: %s (%s). Threads and processes are combined by %s.", m.RateUnits(), m.Style, m.Aggregate)
	if m.developer {
		sb.WriteString(" For developers.")
	}
	sb.WriteString("\n\n")
	if m.Doc != "" {
		sb.WriteString(m.Doc + "\n\n")
	}
	base := "Counted by: " + kindText(m.base.kind, m.base.distribution)
	switch {
	case m.base.event != "":
		base = "Counted by the processor or the kernel, as perf does: " + m.base.event
	case m.base.kind == Kernel:
		base = "Kept by the kernel: " + m.base.kernel
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
