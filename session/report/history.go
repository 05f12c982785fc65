package report

// A History says what the search was given of an earlier run.
type History struct {
	File     string   `json:"file"`
	Started  string   `json:"started"` // when the earlier run began, RFC 3339
	Program  string   `json:"program"` // SameBuild, AnotherBuild or AnotherProgram
	Held     int      `json:"held"`    // places that held then: they are tested first
	RuledOut int      `json:"ruled_out"`
	Settings []string `json:"settings,omitempty"` // tunable constants that are as they were set then
}

// How the program of an earlier run is that of this one. Of AnotherProgram nothing is used, and of AnotherBuild not what was ruled out.
const (
	SameBuild      = "same build"
	AnotherBuild   = "another build"
	AnotherProgram = "another program"
)
