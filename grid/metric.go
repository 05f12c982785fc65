package grid

import (
	"fmt"
	"math"
	"strings"
)

// UnitsType says how values relate to time, as in PCL.
type UnitsType uint8

// The units types of PCL.
const (
	Normalized   UnitsType = iota // time per time (seconds per second, CPUs): Units is already that of the rate
	Unnormalized                  // events or bytes: Units counts them, a rate is Units per second
	Sampled                       // the value itself; never divided by time
)

// Aggregate says how the values of threads and processes become one.
type Aggregate uint8

// The aggregate operators of PCL.
const (
	Sum Aggregate = iota
	Min
	Max
	Avg
)

// Style says what a value of a metric is.
type Style uint8

// The styles of PCL.
const (
	EventCounter    Style = iota // growth over an interval; divided by time when read
	SampledFunction              // the value that held over an interval
)

var (
	unitsTypeNames = []string{"normalized", "unnormalized", "sampled"}
	aggregateNames = []string{"sum", "min", "max", "avg"}
	styleNames     = []string{"EventCounter", "SampledFunction"}
)

// A Metric is a time-varying quantity. It is comparable.
type Metric struct {
	Name      string // as written in a pair: "cpu_inclusive"
	Units     string // "CPUs", "calls", "B"; see UnitsType
	UnitsType UnitsType
	Aggregate Aggregate
	Style     Style
	Doc       string // what is counted, where, in which unit, and what it does not see
	// SinceAttach is set for a value of which only changes are seen: 0 is what it was when it was enabled.
	SinceAttach bool   `json:",omitempty"`
	Values      string `json:",omitempty"` // unit of the values whose distribution is kept beside the sum: "s", "B"; "" = no distribution
}

// RateUnits is the unit of Current, Average, Min and Max: "calls/s" for a metric that counts calls.
func (m Metric) RateUnits() string {
	if m.Style == SampledFunction || m.UnitsType != Unnormalized || strings.HasSuffix(m.Units, "/s") {
		return m.Units
	}
	return m.Units + "/s"
}

// SumUnits is the unit of Sum: what Units is before it is divided by time.
func (m Metric) SumUnits() string {
	switch {
	case m.Style == SampledFunction:
		return m.Units + "*s"
	case strings.HasSuffix(m.Units, "/s"):
		return strings.TrimSuffix(m.Units, "/s")
	case m.UnitsType == Normalized && m.Units == "CPUs":
		return "CPU s"
	}
	return m.Units
}

// Combine makes one value of those of all threads or processes of a focus. Missing values (NaN) are left out; the
// result is NaN if nothing is left.
func (a Aggregate) Combine(values []float64) float64 {
	out, n := 0.0, 0
	for _, v := range values {
		if math.IsNaN(v) {
			continue
		}
		n++
		switch {
		case n == 1:
			out = v
		case a == Min:
			out = min(out, v)
		case a == Max:
			out = max(out, v)
		default:
			out += v
		}
	}
	switch {
	case n == 0:
		return math.NaN()
	case a == Avg:
		return out / float64(n)
	}
	return out
}

// Combine applies the aggregate operator of the metric.
func (m Metric) Combine(values []float64) float64 { return m.Aggregate.Combine(values) }

// String is the word of PCL.
func (u UnitsType) String() string { return enumName(unitsTypeNames, uint8(u)) }

// String is the word of PCL.
func (a Aggregate) String() string { return enumName(aggregateNames, uint8(a)) }

// String is the word of PCL.
func (s Style) String() string { return enumName(styleNames, uint8(s)) }

// ParseUnitsType reads the word of PCL; the error lists the words.
func ParseUnitsType(s string) (UnitsType, error) {
	i, err := enumIndex("unitsType", unitsTypeNames, s)
	return UnitsType(i), err
}

// ParseAggregate reads the word of PCL; the error lists the words.
func ParseAggregate(s string) (Aggregate, error) {
	i, err := enumIndex("aggregateOperator", aggregateNames, s)
	return Aggregate(i), err
}

// ParseStyle reads the word of PCL; the error lists the words.
func ParseStyle(s string) (Style, error) {
	i, err := enumIndex("style", styleNames, s)
	return Style(i), err
}

// MarshalText writes the word of PCL.
func (u UnitsType) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// MarshalText writes the word of PCL.
func (a Aggregate) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// MarshalText writes the word of PCL.
func (s Style) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the word of PCL.
func (u *UnitsType) UnmarshalText(text []byte) (err error) {
	*u, err = ParseUnitsType(string(text))
	return err
}

// UnmarshalText reads the word of PCL.
func (a *Aggregate) UnmarshalText(text []byte) (err error) {
	*a, err = ParseAggregate(string(text))
	return err
}

// UnmarshalText reads the word of PCL.
func (s *Style) UnmarshalText(text []byte) (err error) {
	*s, err = ParseStyle(string(text))
	return err
}

func enumName(names []string, i uint8) string {
	if int(i) < len(names) {
		return names[i]
	}
	return fmt.Sprintf("invalid(%d)", i)
}

func enumIndex(what string, names []string, s string) (uint8, error) {
	for i, n := range names {
		if n == s {
			return uint8(i), nil
		}
	}
	return 0, fmt.Errorf("unknown %s %s; expected one of %s", what, quote(s), strings.Join(names, ", "))
}
