package report

import (
	"fmt"
	"strings"
)

// A History says what the search was given of an earlier run.
type History struct {
	File     string   `json:"file"`
	Started  string   `json:"started"` // when the earlier run began, RFC 3339
	Program  string   `json:"program"` // SameBuild, AnotherBuild or AnotherProgram
	Held     int      `json:"held"`    // places that held then: they are tested first
	RuledOut int      `json:"ruled_out"`
	Settings []string `json:"settings,omitempty"` // tunable constants that are as they were set then
	Unused   []string `json:"unused,omitempty"`   // constants of the earlier run that this one does not have, or whose value is none
}

// How the program of an earlier run is that of this one. Of AnotherProgram nothing is used, and of AnotherBuild not what was ruled out.
const (
	SameBuild      = "same build"
	AnotherBuild   = "another build"
	AnotherProgram = "another program"
)

// writeHistory says where an earlier run was given and is not used: who gave it waits for a sooner answer.
func (r *Report) writeHistory(b *strings.Builder) {
	if r.History != nil && r.History.Program == AnotherProgram {
		fmt.Fprintf(b, "The history (%s) is of another program and was not used.\n", r.History.File)
	}
}
