package explain

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"culprit/consultant/decide"
	"culprit/grid"
)

// Evidence is what an answer rests on.
type Evidence struct {
	Estimate   decide.Estimate
	Bins       int // that the experiment has read
	Confidence float64
	Fraction   bool // the value is a share of time
	Samples    bool // the bins are of stack samples
	Shares     bool // there are no bins: the value is a share of stack samples
	Holds      bool // the answer
}

// Value writes a value of the test.
func (e Evidence) Value(v float64) string {
	if e.Fraction {
		return Percent(e.told(v))
	}
	return Quantity(v)
}

// told is a value as people hear it: a part is never more than its whole, whatever the measurement erred.
func (e Evidence) told(v float64) float64 {
	if e.Estimate.Share {
		return min(v, 1)
	}
	return v
}

// String is "72 %, threshold 20 %, 46 readings, 99 % sure".
func (e Evidence) String() string {
	if e.Estimate.Nothing {
		return fmt.Sprintf("too little happened there, %s, %s sure", Count(e.Bins, "reading", "readings"), sure(e.Confidence))
	}
	return e.Value(e.Estimate.Value) + ", " + e.basis()
}

// basis is the evidence without the value.
func (e Evidence) basis() string {
	now := ""
	if e.past() {
		now = " (it was beyond that; lately it is not)"
	}
	return fmt.Sprintf("%s%s, %s, %s sure", e.threshold(), now, e.readings(), sure(e.Confidence))
}

func (e Evidence) threshold() string { return "threshold " + e.Value(e.Estimate.Threshold) }

// past tells that the answer holds although the value was not beyond the threshold lately.
func (e Evidence) past() bool { return e.Holds && e.Estimate.Margin < 0 }

// readings says how much was measured.
func (e Evidence) readings() string {
	readings := Count(e.Bins, "reading", "readings")
	switch {
	case e.Shares:
		return "from stack samples"
	case e.Samples:
		return readings + " of stack samples"
	}
	return readings
}

// A Finding is a bottleneck: what its sentence is written from.
type Finding struct {
	Evidence
	Hypothesis string
	Label      string // of the hypothesis, with its placeholders; "" = a plain one
	Units      string // in which Estimate.Whole says what a value of 1 is, a plural; "" if that is not told
	Kind       string // "cpu", "sync" or "io": what its object would be if it had one
	Focus      grid.Focus
	Code       string // names the code that the focus selects, or the item of code
	OfCode     bool   // the focus selects code
	Object     string // names the object that the focus selects, or the item of objects; "" if it selects none
	Within     string // names the items that what was found belongs to; "" if there are none
	File       string // where the function is defined; "" if that is not known
	Line       int
	Since      float64
	Stale      float64  // s since session start: it was measured last then, which is long ago; 0 = it was not
	Until      float64  // s since session start: it holds no longer; 0 = it does
	Times      int      // how often it held until then
	Phase      string   // "" = the whole session
	Reasons    []string // sentences of why it holds, and of what else is known, without their full stops
	Stake      float64  // share of the program's active time that would be gained at most
}

// OwnOf makes the finding one of a function's own part of the value, unless that is 0.
func (f *Finding) OwnOf(part float64) {
	if part == 0 {
		return
	}
	f.Reasons = append(f.Reasons, f.Value(f.Estimate.Value)+" with what it calls")
	f.Estimate.Used *= part / f.Estimate.Value
	f.Estimate.Value = part
}

var placeholder = regexp.MustCompile(`\{[a-z]+\}`)

// Sentence says what was found, one idea a sentence: the label of the hypothesis with its placeholders filled in and what of the focus the
// label does not name, the share in units, what is known besides, and the evidence.
func (f Finding) Sentence() string {
	text := capital(f.Statement(), !strings.HasPrefix(f.label(), "{function}") || !f.OfCode)
	if f.Within != "" {
		text += " (" + f.Within + ")"
	}
	parts := append([]string{text, f.amount()}, f.Reasons...)
	parts = append(parts, f.stake(), f.when())
	if f.past() {
		parts = append(parts, "Lately it is not beyond the threshold")
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, ". ") + "."
}

// when says since when it holds, and how sure that is.
func (f Finding) when() string {
	since := "Since " + Seconds(f.Since)
	if f.Until > 0 {
		since = f.span()
	}
	if f.Phase != "" {
		since += " in phase " + Printable(f.Phase)
	}
	since += ", "
	if strings.Contains(f.label(), "{since}") && f.Until == 0 {
		since = ""
	}
	if f.Stale > 0 && f.Until == 0 {
		since += "last measured at " + Seconds(f.Stale) + ", "
	}
	return fmt.Sprintf("%s%s sure (%s, %s)", since, sure(f.Confidence), f.readings(), f.threshold())
}

// span says from when it held, and until when that was seen.
func (f Finding) span() string {
	from := "From "
	if f.Times > 1 {
		from = fmt.Sprintf("%d times from ", f.Times)
	}
	return from + Seconds(f.Since) + ", last seen at " + Seconds(f.Until)
}

// starved is the part of the units of a value that there must have been for it to be told as if it had been all.
const starved = 0.8

// amount is a share in units: "That is 1.4 of 2 CPUs". Where there were far fewer it says so.
func (f Finding) amount() string {
	whole := f.Estimate.Whole
	if f.Units == "" || !f.Fraction || !(whole > 0) {
		return ""
	}
	units := Printable(f.Units)
	if amount(whole) == "1" {
		units = strings.TrimSuffix(units, "s")
	}
	wanted := f.told(f.Estimate.Value) * whole
	switch used := f.Estimate.Used; {
	case used == 0:
		return fmt.Sprintf("That is %s of %s %s", amount(wanted), amount(whole), units)
	case used < starved*wanted:
		return fmt.Sprintf("It got %s of %s %s, and was ready to use %s", amount(used), amount(whole), units, amount(wanted))
	default:
		return fmt.Sprintf("That is %s of %s %s", amount(min(used, whole)), amount(whole), units)
	}
}

// sameStake is by how much a value and what is at stake may differ to be told once.
const sameStake = 0.1

// stake says what is at stake, where the value does not say so itself.
func (f Finding) stake() string {
	if f.Stake <= 0 || f.Fraction && math.Abs(f.Stake-f.Estimate.Value) < sameStake {
		return ""
	}
	return fmt.Sprintf("At most %s of the threads' time would be gained", Percent(f.Stake))
}

// Refuted says that a finding stands on a hypothesis that does not hold any longer, behind its sentence.
func Refuted(hypothesis string, focus grid.Focus) string {
	return fmt.Sprintf(" But %s is ruled out at %s now.", Printable(hypothesis), Focus(focus))
}

// Reason is the statement as a sentence of its own. beside tells that the sentence before it has named the place.
func (f Finding) Reason(beside bool) string {
	text := f.Statement()
	if beside {
		text = tidy(f.fill(f.label()))
	}
	return capital(text, !strings.HasPrefix(f.label(), "{function}") || !f.OfCode)
}

// Statement is the sentence without the evidence.
func (f Finding) Statement() string { return tidy(f.fill(f.label()) + f.missing(f.label())) }

func (f Finding) label() string {
	if f.Label == "" {
		return f.Hypothesis + " at {focus}: {value}"
	}
	return f.Label
}

// source is the place in the source in brackets.
func (f Finding) source() string {
	if f.File == "" {
		return ""
	}
	return fmt.Sprintf("(%s:%d)", Printable(f.File), f.Line)
}

// fill replaces the placeholders of a label. Those that are not known stay.
func (f Finding) fill(label string) string {
	fill := map[string]string{
		"{percent}": Percent(f.told(f.Estimate.Value)), "{value}": f.Value(f.Estimate.Value),
		"{threshold}": f.Value(f.Estimate.Threshold), "{function}": f.Code, "{source}": f.source(),
		"{object}": f.objectOr(), "{process}": Process(f.Focus), "{since}": Seconds(f.Since),
		"{focus}": Focus(f.Focus),
	}
	if fill["{process}"] == "" {
		fill["{process}"] = wholeProgram
	}
	if !strings.Contains(label, "{source}") && strings.Contains(label, "{function}") && f.File != "" {
		fill["{function}"] += " " + f.source()
	}
	if fill["{value}"] == "1" {
		label = one(label)
	}
	if !f.OfCode && strings.HasPrefix(label, "{function}") {
		label = strings.ReplaceAll(label, " "+wholeProgram+" ", " it ") // which has just been named
	}
	return placeholder.ReplaceAllStringFunc(label, func(p string) string {
		if v, ok := fill[p]; ok {
			return v
		}
		return p
	})
}

// objectOr names the object, or what kind of thing it would be.
func (f Finding) objectOr() string {
	if f.Object != "" {
		return f.Object
	}
	switch f.Kind {
	case "sync":
		return "other threads"
	case "io":
		return "files, sockets or pipes"
	}
	return "memory"
}

// missing names the parts of the focus that the label leaves out.
func (f Finding) missing(label string) string {
	if strings.Contains(label, "{focus}") {
		return ""
	}
	text := ""
	if f.Object != "" && !strings.Contains(label, "{object}") {
		text += " for " + f.Object
	}
	if f.OfCode && !strings.Contains(label, "{function}") {
		text += " in " + f.Code + " " + f.source()
	}
	if p := Process(f.Focus); p != "" && !strings.Contains(label, "{process}") {
		text += " in " + p
	}
	return text
}

// Sentence begins a text with a capital.
func Sentence(s string) string { return capital(s, true) }

// capital begins a sentence with a capital unless it begins with a name of the program.
func capital(s string, words bool) string {
	r, size := utf8.DecodeRuneInString(s)
	if !words || size == 0 {
		return s
	}
	return string(unicode.ToUpper(r)) + s[size:]
}

// tidy removes what empty placeholders leave behind: double spaces, and spaces before punctuation.
func tidy(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	for _, p := range []string{",", ".", ";", ":"} {
		s = strings.ReplaceAll(s, " "+p, p)
	}
	return strings.TrimRight(s, ".,;: ")
}
