package diff

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"culprit/session/report"
)

// A Result is what is written of a comparison as JSON.
type Result struct {
	Schema     int      `json:"schema"` // 1
	Tool       string   `json:"tool"`
	A          string   `json:"a"` // the files
	B          string   `json:"b"`
	Changes    []Change `json:"changes"`
	Note       string   `json:"note,omitempty"` // see Crowded
	ExitStatus int      `json:"exit_status"`
}

// Encode writes the result as indented JSON. Lists are never null.
func (r *Result) Encode(w io.Writer) error {
	c := *r
	c.Schema = 1
	if c.Changes == nil {
		c.Changes = []Change{}
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(&c)
}

// Text writes the changes for people.
func Text(list []Change) string {
	var b strings.Builder
	count := map[Kind]int{}
	for _, c := range list {
		count[c.Kind]++
	}
	switch {
	case count[Undecided] > 0 && count[Same]+count[Undecided] == len(list):
		fmt.Fprintf(&b, "No bottleneck is known to be new, gone, worse or better; of %d it cannot be said.\n", count[Undecided])
	case count[Same] == len(list):
		b.WriteString("No bottleneck is new, gone, worse or better.\n")
	}
	for _, c := range list {
		fmt.Fprintf(&b, "%-9s  %s", c.Kind, c.text())
		if c.Why != "" {
			b.WriteString(": " + c.Why)
		}
		b.WriteByte('\n')
	}
	if len(list) > 0 {
		b.WriteString("Values are means of the whole measurements, where the reports have them.\n")
	}
	return b.String()
}

func (c *Change) text() string {
	at := "the whole program"
	if len(c.Focus) > 0 {
		at = c.Focus.String()
	}
	return fmt.Sprintf("%s at %s: %s, then %s", c.Hypothesis, at, c.A.text(c.Unit), c.B.text(c.Unit))
}

func (s *Side) text(unit string) string {
	if s == nil || s.Readings == 0 {
		return "never measured"
	}
	if s.AtMost {
		return "at most " + report.Quantity(float64(s.Value+s.Error), unit)
	}
	return fmt.Sprintf("%s (+- %s)", report.Quantity(float64(s.Value), unit), report.Quantity(float64(s.Error), unit))
}
