package main

import (
	"fmt"
	"strings"

	"culprit/pcl"
)

// hypothesisTree writes the why axis, children below their parents. One whose parent is not there is shown at the top.
func hypothesisTree(all []*pcl.Hypothesis) string {
	names := map[string]bool{}
	for _, h := range all {
		names[h.Name] = true
	}
	children := map[string][]*pcl.Hypothesis{}
	for _, h := range all {
		parent := h.Parent
		if !names[parent] {
			parent = ""
		}
		children[parent] = append(children[parent], h)
	}
	var b strings.Builder
	var walk func(parent string, depth int)
	walk = func(parent string, depth int) {
		for _, h := range children[parent] {
			fmt.Fprintf(&b, "%-34s %s\n", strings.Repeat("  ", depth)+h.Name, cleanLines(about(h)))
			if depth < len(all) {
				walk(h.Name, depth+1)
			}
		}
	}
	walk("", 0)
	return b.String()
}

// about is what the hypothesis says of itself, and where it is refined.
func about(h *pcl.Hypothesis) string {
	text := firstSentence(h.Explain)
	if len(h.Refine) == 0 {
		return text
	}
	return strings.TrimSpace(text + " [" + strings.Join(h.Along(), ", ") + "]")
}
