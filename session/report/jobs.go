package report

import (
	"fmt"
	"strings"
)

// A Job is what is known of the ranks of one job of MPI: who waits for whom in what all do together.
type Job struct {
	Ranks []RankTime `json:"ranks"` // by number
	// Function is the collective function in which ranks were seen most often, "" if none was seen.
	Function string `json:"function"`
	Waiting  []int  `json:"waiting"` // ranks that wait for others
	Awaited  []int  `json:"awaited"` // ranks that they wait for
	Sentence string `json:"sentence"`
}

// A RankTime is how much of its time a rank spent in collective operations.
type RankTime struct {
	Rank       int    `json:"rank"`
	PID        int    `json:"pid"`
	Collective Number `json:"collective"` // share of time, 0 to 1 for a rank with one thread
}

// writeJobs tells who waits for whom.
func (r *Report) writeJobs(b *strings.Builder) {
	for _, j := range r.Jobs {
		if j.Sentence != "" {
			fmt.Fprintf(b, "\nMPI: %s.\n", j.Sentence)
		}
	}
}
