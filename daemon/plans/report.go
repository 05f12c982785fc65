package plans

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"culprit/daemon/image"
	"culprit/daemon/program"
	"culprit/pcl"
	"culprit/trampoline/planner"
)

// A Report says what of a program can be instrumented.
type Report struct {
	Functions      int               `json:"functions"`
	Instrumentable int               `json:"instrumentable"` // entry and every exit can be reached
	ByRule         int               `json:"by_rule"`        // must not be touched for what they are: they are no candidates
	HandWritten    int               `json:"hand_written"`   // refused candidates whose line table names an assembly source
	Coverage       float64           `json:"coverage"`       // Instrumentable of Functions without ByRule, in percent; 0 if there are none
	Tactics        map[string]int    `json:"tactics"`        // entries and exits by the way that leads to them
	Refused        map[string]int    `json:"refused"`        // functions by the reason why not
	RefusedNames   []RefusedFunction `json:"refused_functions"`
	RefusedMore    int               `json:"refused_more"` // refused functions beyond those that are named
}

// A RefusedFunction is a function that cannot be instrumented. Its name and object come from the program and are not safe to show.
type RefusedFunction struct {
	Name        string `json:"name"`
	Object      string `json:"object"`
	Reason      string `json:"reason"`
	ByRule      bool   `json:"by_rule"`
	HandWritten bool   `json:"hand_written"` // false also where there are no line tables
}

// maxRefusedNames bounds the list of refused functions.
const maxRefusedNames = 2000

// NewReport is a report of nothing yet.
func NewReport() Report {
	return Report{Tactics: map[string]int{}, Refused: map[string]int{}, RefusedNames: []RefusedFunction{}}
}

// ReportOf is the report of a file.
func ReportOf(path string) (Report, error) {
	r := NewReport()
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) // to open a pipe would wait for somebody who writes to it
	if err != nil {
		return r, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return r, err
	}
	if !st.Mode().IsRegular() {
		return r, fmt.Errorf("%s is a pipe, a device or the like; give a program, a library, or a pid", path)
	}
	o, err := image.Open(f, st.Size(), filepath.Base(path))
	if err != nil {
		return r, err
	}
	r.Add(o)
	return r, o.Err()
}

// Add adds the functions of a file.
func (r *Report) Add(o *image.Object) {
	r.add(&program.Object{Object: o, Name: o.Name()}, func(*Function) {})
}

// add adds the functions of an object, and gives those that can be instrumented to each.
func (r *Report) add(o *program.Object, each func(*Function)) {
	of := &object{Object: o} // keeps no plans: of large programs there are a million
	for _, fn := range o.Functions() {
		f := &Function{Function: &program.Function{ID: pcl.FuncID(fn.Addr), Obj: o, Fn: fn}, of: of}
		f.Make()
		if strings.Contains(f.reason, "fragment") {
			continue // a cold part that lies apart: it is instrumented with the function that it belongs to
		}
		r.Functions++
		if reason := r.count(f); reason != "" {
			r.refuse(f.Function, reason)
			continue
		}
		r.Instrumentable++
		each(f)
	}
	if n := r.Functions - r.ByRule; n > 0 {
		r.Coverage = 100 * float64(r.Instrumentable) / float64(n)
	}
}

// refuse notes a function that cannot be instrumented.
func (r *Report) refuse(f *program.Function, reason string) {
	r.Refused[reason]++
	p := RefusedFunction{Name: f.Fn.Name, Object: f.Obj.Name, Reason: reason, ByRule: f.Fn.ByRule() || reason == WhyGo}
	p.HandWritten = f.Obj.HandWritten(f.Fn)
	switch {
	case p.ByRule:
		r.ByRule++
	case p.HandWritten:
		r.HandWritten++
	}
	if len(r.RefusedNames) == maxRefusedNames {
		r.RefusedMore++
		return
	}
	r.RefusedNames = append(r.RefusedNames, p)
}

// count adds the ways to a function's entry and exits, or returns why one of them cannot be reached.
func (r *Report) count(f *Function) (reason string) {
	if f.reason != "" {
		return f.reason
	}
	tactics := map[planner.Tactic]int{}
	for _, pts := range [][]planner.Point{f.Entry(), f.Exits()} {
		for _, pt := range pts {
			s, refusal := f.plan.SiteOf(pt)
			if refusal != nil {
				return fmt.Sprintf("%s: %s", pt.Kind, refusal.Reason)
			}
			tactics[s.Tactic]++
		}
	}
	for t, n := range tactics {
		r.Tactics[string(t)] += n
	}
	return ""
}
