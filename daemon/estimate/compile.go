package estimate

import (
	"strings"

	"culprit/grid"
	"culprit/pcl"
)

// Compile is the plan of a pair, and which lock or file its focus names: the arguments by which a probe tells those apart are
// gone when a sample is taken, but what a blocked thread waits for is known.
func (s *Times) Compile(key grid.PairKey) (plan *pcl.Plan, object string, err error) {
	t := s.t
	if err := t.Library.Check(key.Metric, key.Focus); err != nil {
		return nil, "", err
	}
	if err := s.knowsObject(key.Focus); err != nil {
		return nil, "", err
	}
	rest, object := withoutObject(key.Focus)
	plan, err = t.Compile(grid.PairKey{Metric: key.Metric, Focus: rest})
	if err == nil && object != "" && plan.KeptByKernel() {
		plan, err = t.Compile(key)
	}
	if err != nil {
		return nil, "", err
	}
	if !plan.KeptByKernel() {
		if err := s.Tells(plan); err != nil {
			return nil, "", err
		}
	}
	plan.Pair = key
	return plan, object, nil
}

// knowsObject refuses a lock or file that nobody has seen: its value would be 0 for ever.
func (s *Times) knowsObject(f grid.Focus) error {
	for _, h := range []grid.Hierarchy{grid.SyncObject, grid.IO} {
		if e := f.Elements(h); len(e) == 2 {
			if _, err := s.t.Object(h, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// withoutObject takes the lock or file out of a focus.
func withoutObject(f grid.Focus) (rest grid.Focus, object string) {
	for _, h := range []grid.Hierarchy{grid.SyncObject, grid.IO} {
		if e := f.Elements(h); len(e) > 0 {
			return f.Refine(h), h.String() + "/" + strings.Join(e, "/")
		}
	}
	return f, ""
}
