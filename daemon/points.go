package daemon

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"culprit/daemon/image"
	"culprit/daemon/program"
	"culprit/pcl"
	"culprit/trampoline/planner"
)

// A PointsReport says what of a program can be instrumented.
type PointsReport struct {
	Functions      int            `json:"functions"`
	Instrumentable int            `json:"instrumentable"` // entry and every exit can be reached
	ByRule         int            `json:"by_rule"`        // must not be touched for what they are: they are no candidates
	HandWritten    int            `json:"hand_written"`   // refused candidates whose line table names an assembly source
	Coverage       float64        `json:"coverage"`       // Instrumentable of Functions without ByRule, in percent; 0 if there are none
	Tactics        map[string]int `json:"tactics"`        // entries and exits by the way that leads to them
	Refused        map[string]int `json:"refused"`        // functions by the reason why not
	RefusedNames   []RefusedPoint `json:"refused_functions"`
	RefusedMore    int            `json:"refused_more"` // refused functions beyond those that are named
}

// A RefusedPoint is a function that cannot be instrumented. Its name and object come from the program and are not safe to show.
type RefusedPoint struct {
	Name        string `json:"name"`
	Object      string `json:"object"`
	Reason      string `json:"reason"`
	ByRule      bool   `json:"by_rule"`
	HandWritten bool   `json:"hand_written"` // false also where there are no line tables
}

// maxRefusedNames bounds the list of refused functions.
const maxRefusedNames = 2000

// Points analyses a file, or all files whose code a process has mapped. Nothing is stopped or changed.
func Points(target string) (r PointsReport, err error) {
	r = PointsReport{Tactics: map[string]int{}, Refused: map[string]int{}, RefusedNames: []RefusedPoint{}}
	defer r.sum()
	if pid, err := strconv.Atoi(target); err == nil {
		err = r.process(pid)
		return r, err
	}
	f, err := os.OpenFile(target, os.O_RDONLY|unix.O_NONBLOCK, 0) // to open a pipe would wait for somebody who writes to it
	if err != nil {
		return r, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return r, err
	}
	if !st.Mode().IsRegular() {
		return r, fmt.Errorf("%s is a pipe, a device or the like; give a program, a library, or a pid", target)
	}
	o, err := image.Open(f, st.Size(), baseName(target))
	if err != nil {
		return r, err
	}
	r.object(&program.Object{Object: o, Name: o.Name()}, nil)
	return r, o.Err()
}

func (r *PointsReport) process(pid int) error {
	return eachFile(pid, func(o *image.Object) { r.object(&program.Object{Object: o, Name: o.Name()}, nil) })
}

// object adds the functions of an object, and gives those that can be instrumented to each, if that is not nil.
func (r *PointsReport) object(o *program.Object, each func(*funcPlan)) {
	code := newCodePlan(o, nil, false)
	for _, fn := range o.Functions() {
		f := &program.Function{ID: pcl.FuncID(fn.Addr), Obj: o, Fn: fn}
		pl := &funcPlan{f: f, of: code} // code keeps none: of large programs there are a million
		pl.analyse()
		if strings.Contains(pl.reason, "fragment") {
			continue // a cold part that lies apart: it is instrumented with the function that it belongs to
		}
		r.Functions++
		if reason := r.count(pl); reason != "" {
			r.refuse(f, reason)
		} else {
			r.Instrumentable++
			if each != nil {
				each(pl)
			}
		}
	}
}

// refuse notes a function that cannot be instrumented.
func (r *PointsReport) refuse(f *program.Function, reason string) {
	r.Refused[reason]++
	p := RefusedPoint{Name: f.Fn.Name, Object: f.Obj.Name, Reason: reason, ByRule: f.Fn.ByRule() || reason == whyGo}
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

// sum works out the coverage.
func (r *PointsReport) sum() {
	if n := r.Functions - r.ByRule; n > 0 {
		r.Coverage = 100 * float64(r.Instrumentable) / float64(n)
	}
}

// count adds the ways to a function's entry and exits, or returns why one of them cannot be reached.
func (r *PointsReport) count(pl *funcPlan) (reason string) {
	if pl.reason != "" {
		return pl.reason
	}
	tactics := map[planner.Tactic]int{}
	for _, pts := range [][]planner.Point{pl.points[pcl.Entry], pl.points[pcl.Return]} {
		for _, pt := range pts {
			s, refusal := pl.plan.SiteOf(pt)
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
