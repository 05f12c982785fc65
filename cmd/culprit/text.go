package main

import (
	"strings"

	"culprit/internal/safetext"
)

// maxLine and maxLines bound what an error message may put on the terminal.
const (
	maxLine  = 400
	maxLines = 200
)

// cleanLines makes text of several lines safe for the terminal and keeps its lines.
func cleanLines(s string) string {
	lines := strings.Split(s, "\n")
	if len(lines) > maxLines {
		lines = append(lines[:maxLines], "...")
	}
	for i, l := range lines {
		lines[i] = safetext.CleanMax(l, maxLine)
	}
	return strings.Join(lines, "\n")
}
