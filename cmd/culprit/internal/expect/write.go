package expect

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"time"
)

// WriteText writes a line for each verdict, and one that counts them.
func WriteText(w io.Writer, list []Verdict) error {
	b := bufio.NewWriter(w)
	for _, v := range list {
		fmt.Fprintf(b, "%-8s%s: %s: %s\n", v.Outcome, v.Set, v.Text, v.Detail)
	}
	fmt.Fprintf(b, "%d held, %d failed, %d could not be measured\n", Count(list, Held), Count(list, Failed), Count(list, Unknown))
	return b.Flush()
}

// The elements of JUnit XML as continuous integration systems read it (the schema of the Jenkins plugin).
type suites struct {
	XMLName xml.Name `xml:"testsuites"`
	Suites  []*suite `xml:"testsuite"`
}

type suite struct {
	XMLName   xml.Name   `xml:"testsuite"`
	Name      string     `xml:"name,attr"`
	Tests     int        `xml:"tests,attr"`
	Failures  int        `xml:"failures,attr"`
	Errors    int        `xml:"errors,attr"`
	Time      string     `xml:"time,attr"`      // s
	Timestamp string     `xml:"timestamp,attr"` // UTC, without a zone
	Cases     []testCase `xml:"testcase"`
}

type testCase struct {
	XMLName   xml.Name `xml:"testcase"`
	ClassName string   `xml:"classname,attr"`
	Name      string   `xml:"name,attr"`
	Failure   *fault   `xml:"failure,omitempty"`
	Error     *fault   `xml:"error,omitempty"`
	Output    string   `xml:"system-out,omitempty"`
}

type fault struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
}

// WriteJUnit writes the verdicts as JUnit XML: a test suite for each expect definition, a test case for each of its lines. What failed
// is a failure, what could not be measured an error. The measurement began at the given time and took this long.
func WriteJUnit(w io.Writer, list []Verdict, began time.Time, took time.Duration) error {
	out := suites{}
	byName := map[string]*suite{}
	for _, v := range list {
		s := byName[v.Set]
		if s == nil {
			s = &suite{Name: "culprit." + v.Set, Time: fmt.Sprintf("%.3f", took.Seconds()), Timestamp: began.UTC().Format("2006-01-02T15:04:05")}
			byName[v.Set] = s
			out.Suites = append(out.Suites, s)
		}
		s.add(v)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *suite) add(v Verdict) {
	c := testCase{ClassName: "culprit." + v.Set, Name: v.Text}
	s.Tests++
	switch v.Outcome {
	case Held:
		c.Output = v.Detail
	case Failed:
		s.Failures++
		c.Failure = &fault{Message: v.Detail, Type: "expectation"}
	default:
		s.Errors++
		c.Error = &fault{Message: v.Detail, Type: "measurement"}
	}
	s.Cases = append(s.Cases, c)
}
