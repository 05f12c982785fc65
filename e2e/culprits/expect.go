package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An expectation is what an expert says about a program, written before the program was ever measured.
type expectation struct {
	cause   string
	right   []answer // each alone is right; none of them says that the program is healthy
	never   []place
	args    []string // FILE and DIR stand for a fresh file and a fresh directory
	flags   []string // of the compiler
	healthy bool
}

// An answer is a hypothesis at places, all of which must be named.
type answer struct {
	hypotheses []string // any of them
	places     []place
}

// readExpectation reads the comment at the beginning of a source file.
func readExpectation(path string) (*expectation, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	e, err := parseExpectation(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s:%w", filepath.Base(path), err)
	}
	return e, nil
}

// parseExpectation reads lines "// Key: text" up to the first line that is no comment. Other lines of the comment go on with what is
// before them. An error begins with the number of its line.
func parseExpectation(text string) (*expectation, error) {
	e := &expectation{}
	for i, line := range strings.Split(text, "\n") {
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "//")
		if !ok {
			break
		}
		if err := e.add(strings.TrimSpace(strings.TrimLeft(comment, "/!"))); err != nil {
			return nil, fmt.Errorf("%d: %w", i+1, err)
		}
	}
	if err := e.check(); err != nil {
		return nil, fmt.Errorf("1: %w", err)
	}
	return e, nil
}

// add reads one line of the comment.
func (e *expectation) add(line string) error {
	key, value, ok := strings.Cut(line, ": ")
	value = strings.TrimSpace(value)
	switch {
	case ok && key == "Cause":
		e.cause = value
	case ok && key == "Right":
		return e.addRight(value)
	case ok && key == "Never":
		p, err := parsePlace(value)
		e.never = append(e.never, p)
		return err
	case ok && key == "Args":
		e.args = append(e.args, strings.Fields(value)...)
	case ok && key == "Flags":
		e.flags = append(e.flags, strings.Fields(value)...)
	case ok && key == "Processes":
		if value != "tree" { // the default options measure the children anyway
			return fmt.Errorf("expected Processes: tree, not %q", value)
		}
	case ok && isKey(key):
		return fmt.Errorf("unknown key %q: expected Cause, Right, Never, Args, Flags or Processes", key)
	case line != "" && len(e.right) == 0 && !e.healthy:
		e.cause = strings.TrimSpace(e.cause + " " + line)
	case line != "":
		return fmt.Errorf("%q has no key", line)
	}
	return nil
}

// isKey reports whether a text is one word with a capital.
func isKey(s string) bool {
	return s != "" && s[0] >= 'A' && s[0] <= 'Z' && !strings.ContainsAny(s, " .,;()")
}

func (e *expectation) addRight(text string) error {
	if text == "none" {
		e.healthy = true
		return nil
	}
	names, at, ok := strings.Cut(text, " at ")
	if !ok {
		return fmt.Errorf("expected HYPOTHESIS at PLACE, not %q", text)
	}
	a := answer{hypotheses: strings.Split(names, "|")}
	for i, h := range a.hypotheses {
		if a.hypotheses[i] = strings.TrimSpace(h); a.hypotheses[i] == "" {
			return errors.New("a hypothesis without a name")
		}
	}
	for _, one := range strings.Split(at, " and ") {
		p, err := parsePlace(one)
		if err != nil {
			return err
		}
		a.places = append(a.places, p)
	}
	e.right = append(e.right, a)
	return nil
}

func (e *expectation) check() error {
	switch {
	case e.cause == "":
		return errors.New("there is no line with Cause")
	case e.healthy && len(e.right) > 0:
		return errors.New("none is right, and something else as well")
	case !e.healthy && len(e.right) == 0:
		return errors.New("there is no line with Right")
	}
	return nil
}

// healthyCategory is the category of programs in which nothing may be found.
const healthyCategory = "healthy"

// categories are the kinds of causes, each with the hypotheses that belong to it.
var categories = []struct {
	name       string
	hypotheses []string
}{
	{"cpu", []string{"CPUbound"}},
	{"kernel", []string{"SystemTimeHigh", "SystemCallTimeHigh", "PageFaultTimeHigh", "SchedulingDelay", "ControlGroupLimit", "ShortLivedProcesses", "FrequentSmallIOOps", "FrequentMappingOps"}},
	{"waiting", []string{"ExcessiveSyncWaitingTime", "HotSyncObject", "FrequentSyncOperations", "LoadImbalance"}},
	{"measuring", []string{"InstrumentationCost"}},
	{"io", []string{"ExcessiveIOBlockingTime", "TooManySmallIOOps", "ExcessiveFlushTime", "TooManyMajorFaults", "MajorFaultTimeHigh"}},
}

// category is the kind of the first right answer.
func (e *expectation) category() string {
	if e.healthy {
		return healthyCategory
	}
	return categoryOf(e.right[0].hypotheses[0])
}

// categoryOf is the category of a hypothesis; "" if it has none.
func categoryOf(hypothesis string) string {
	for _, c := range categories {
		if slices.Contains(c.hypotheses, hypothesis) {
			return c.name
		}
	}
	return ""
}
