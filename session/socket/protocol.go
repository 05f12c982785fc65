package socket

import (
	"encoding/json"
	"fmt"
	"time"
)

// The requests.
const (
	Snapshot = "snapshot" // what the session knows, in the schema of its report
	Version  = "version"  // which program answers
	Phase    = "phase"    // begins a phase; its name may follow after a space
)

// Protocol is the number of what requests and answers look like.
const Protocol = 1

// The kinds of errors that a session answers with.
const (
	KindUnknown   = "unknown_request"
	KindTooLong   = "request_too_long"
	KindTimeout   = "request_timeout" // no whole line came in time
	KindForbidden = "not_permitted"   // the client belongs to another user
	KindBusy      = "busy"            // too many clients
	KindFailed    = "failed"          // the answer could not be made
)

// An Error is an answer that says why there is no other.
type Error struct {
	Kind    string `json:"kind"` // for programs
	Message string `json:"message"`
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s (%s)", e.Message, e.Kind) }

// failure is how an Error is sent.
type failure struct {
	Error *Error `json:"error"`
}

func (e *Error) line() []byte {
	b, err := json.Marshal(failure{e})
	if err != nil {
		panic("BUG: an error that cannot be encoded: " + err.Error())
	}
	return append(b, '\n')
}

// Bounds of what one client may take.
const (
	maxRequest = 1 << 10          // bytes of a request
	maxDrained = 4 << 20          // bytes of a request that is too long which are read, so that the client comes to read its answer
	askWait    = 2 * time.Second  // for a whole request
	readWait   = 5 * time.Second  // for a client to read its answer
	maxClients = 16               // at a time; one more is told that it is one too many
	maxAccepts = 200              // clients in a second; more of them wait
	maxAnswer  = 64 << 20         // bytes of an answer that a client reads
	answerWait = 20 * time.Second // for the whole of it
	// fresh is how long an answer is good for other clients too: asking takes processor time of what measures.
	fresh = 250 * time.Millisecond
)
