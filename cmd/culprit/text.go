package main

import "culprit/internal/safetext"

// maxLine and maxLines bound what an error message may put on the terminal.
const (
	maxLine  = 400
	maxLines = 200
)

// cleanLines makes text of several lines safe for the terminal and keeps its lines.
func cleanLines(s string) string { return safetext.CleanLines(s, maxLine, maxLines) }
