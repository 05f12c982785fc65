package expect

import (
	"encoding/json"
	"io"
	"strings"
	"time"

	"culprit/session/report"
)

// Schema is the number of the layout of Results. Fields may be added to it, never changed.
const Schema = 1

// Results are the verdicts of one run of assert, for programs.
type Results struct {
	Schema       int           `json:"schema"`
	Tool         string        `json:"tool"`    // name and version
	Started      string        `json:"started"` // RFC 3339
	Seconds      report.Number `json:"seconds"` // how long was measured
	Held         int           `json:"held"`
	Failed       int           `json:"failed"`
	Unknown      int           `json:"unknown"` // could not be measured
	ExitStatus   int           `json:"exit_status"`
	Expectations []Result      `json:"expectations"`
}

// A Result is one verdict. Value and Threshold are null where it could not be measured.
type Result struct {
	Set       string         `json:"set"`
	Text      string         `json:"text"`
	Outcome   string         `json:"outcome"` // "ok", "failed" or "unknown"
	Value     report.Missing `json:"value"`
	Relation  string         `json:"relation"` // "<", "<=", ">" or ">=", with "not " before it, or "within 10 % of"
	Threshold report.Missing `json:"threshold"`
	Unit      string         `json:"unit"` // of value and threshold; "" if they have none
	Detail    string         `json:"detail"`
}

// NewResults counts verdicts. The measurement began at the given time and took this long; status is the exit status.
func NewResults(tool string, list []Verdict, began time.Time, took time.Duration, status int) *Results {
	r := &Results{Schema: Schema, Tool: tool, Started: began.UTC().Format(time.RFC3339Nano), Seconds: report.Number(took.Seconds()),
		Held: Count(list, Held), Failed: Count(list, Failed), Unknown: Count(list, Unknown), ExitStatus: status, Expectations: []Result{}}
	for _, v := range list {
		r.Expectations = append(r.Expectations, Result{Set: v.Set, Text: v.Text, Outcome: strings.ToLower(string(v.Outcome)), Value: report.Missing(v.Value),
			Relation: v.Relation, Threshold: report.Missing(v.Threshold), Unit: v.Unit, Detail: v.Detail})
	}
	return r
}

// Encode writes the results as indented JSON.
func (r *Results) Encode(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(r)
}
