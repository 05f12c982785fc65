package explain

import (
	"fmt"
	"slices"
	"strings"
)

// A Part is an object, a thread, or a function that has some of the time of a finding.
type Part struct {
	Code   string // "" if the finding names code itself
	Object string
	Thread string // where it is told if there is no object
	Value  string // how much of the time it has; "" if it is another quantity
	All    bool   // it has nearly all of it
}

// mostParts is how many parts of a finding are named.
const mostParts = 3

// Others says which parts the time of a finding is about that names an object or none: object is the one that has all of it, to be named in the sentence
// itself, and rest is a sentence of the others without its full stop. Both may be "".
func Others(own string, parts []Part) (object, rest string) {
	var said, whole []string
	named := map[string]bool{own: true, "": true}
	for _, p := range parts {
		switch {
		case p.Code != "":
			said = append(said, p.of("in "+p.Code))
		case p.Object == "" && p.All && slices.Contains(whole, p.Thread):
		case p.Object == "" && p.All:
			whole = append(whole, p.Thread)
		case p.Object == "":
			said = append(said, p.of("in "+p.Thread))
		case own == "" && object == "" && p.All:
			object = p.Object
			named[object] = true
		case !named[p.Object]: // else it is at another place, or a file that was made anew
			named[p.Object] = true
			said = append(said, p.of("for "+p.Object))
		}
	}
	if len(whole) > 0 { // several live one after the other
		said = slices.Insert(said, 0, "nearly all of it in "+strings.Join(whole, " and "))
	}
	said = known(said)
	if more := len(said) - mostParts; more > 0 {
		said = append(said[:mostParts], fmt.Sprintf("%d more", more))
	}
	if len(said) == 0 {
		return object, ""
	}
	return object, Sentence(strings.Join(said, ", "))
}

// of is how much a part has; "" if that is not known.
func (p Part) of(what string) string {
	if p.Value == "" {
		return ""
	}
	return p.Value + " " + what
}

func known(list []string) (out []string) {
	for _, s := range list {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// Sampled says why a place is judged from stack samples: it cannot be measured (refused says why), others use the budget, or it costs more than that.
func Sampled(refused string, starved bool, cost, limit float64) string {
	why := "measuring it would take"
	switch {
	case refused != "":
		return "judged from stack samples, since it cannot be measured: " + refused
	case starved:
		why = "others use the budget and it would take"
	}
	return fmt.Sprintf("judged from stack samples, since %s %s of the program's time and the budget is %s", why, Percent(cost), Percent(limit))
}
