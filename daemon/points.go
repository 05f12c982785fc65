package daemon

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"culprit/daemon/image"
	"culprit/daemon/process"
	"culprit/pcl"
	"culprit/trampoline"
)

// A PointsReport says what of a program can be instrumented.
type PointsReport struct {
	Functions      int            `json:"functions"`
	Instrumentable int            `json:"instrumentable"` // entry and every exit can be reached
	Tactics        map[string]int `json:"tactics"`        // entries and exits by the way that leads to them
	Refused        map[string]int `json:"refused"`        // functions by the reason why not
}

// Points analyses a file, or all files whose code a process has mapped. Nothing is stopped or changed.
func Points(target string) (r PointsReport, err error) {
	r = PointsReport{Tactics: map[string]int{}, Refused: map[string]int{}}
	if pid, err := strconv.Atoi(target); err == nil {
		return r, r.process(pid)
	}
	f, err := os.Open(target)
	if err != nil {
		return r, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return r, err
	}
	if !st.Mode().IsRegular() {
		return r, fmt.Errorf("%s is not a file", target)
	}
	o, err := image.Open(f, st.Size(), baseName(target))
	if err != nil {
		return r, err
	}
	r.object(&object{Object: o, name: o.Name()})
	return r, o.Err()
}

func (r *PointsReport) process(pid int) error {
	p, err := process.Open(pid)
	if err != nil {
		return err
	}
	defer p.Close()
	maps, err := p.Maps()
	if err != nil {
		return err
	}
	var files images
	seen := map[fileKey]bool{}
	for _, m := range maps {
		key := fileKey{m.Dev, m.Inode}
		if !m.Executable() || !m.FileBacked() || isSegment(m) || seen[key] {
			continue
		}
		seen[key] = true
		o, _, err := files.open(p, m, key)
		if err != nil {
			return err
		}
		r.object(&object{Object: o, name: o.Name()})
	}
	return nil
}

func (r *PointsReport) object(o *object) {
	for _, fn := range o.Functions() {
		f := &function{id: pcl.FuncID(fn.Addr), obj: o, fn: fn}
		f.analyse()
		if strings.Contains(f.reason, "fragment") {
			continue // a cold part that lies apart: it is instrumented with the function that it belongs to
		}
		r.Functions++
		if reason := r.count(f); reason != "" {
			r.Refused[reason]++
		} else {
			r.Instrumentable++
		}
	}
}

// count adds the ways to a function's entry and exits, or returns why one of them cannot be reached.
func (r *PointsReport) count(f *function) (reason string) {
	if f.reason != "" {
		return f.reason
	}
	tactics := map[trampoline.Tactic]int{}
	for _, pts := range [][]trampoline.Point{f.points[pcl.Entry], f.points[pcl.Return]} {
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
