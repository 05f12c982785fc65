package browse

import (
	"strings"

	"culprit/cmd/culprit/internal/proclist"
	"culprit/internal/safetext"
)

// maxText bounds a name or sentence on the screen, in characters.
const maxText = 500

// clean makes text of a target harmless for the terminal.
func clean(s string) string { return safetext.CleanMax(s, maxText) }

// commandLine is the name of the program and its arguments.
func commandLine(p *proclist.Proc) string {
	if len(p.Args) < 2 {
		return p.Name()
	}
	return p.Name() + " " + strings.Join(p.Args[1:], " ")
}

// contains reports whether text has part in it, whatever the case.
func contains(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}
