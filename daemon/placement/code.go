package placement

import (
	"slices"

	"culprit/daemon/contexts"
	"culprit/daemon/patch"
	"culprit/daemon/probe"
	"culprit/daemon/target"
	"culprit/pcl"
	"culprit/trampoline/planner"
)

// Code is the code of one meter in the text of its target.
type Code struct {
	Target *target.Target
	Meter  *probe.Meter
	Owner  patch.Owner   // that it has at its sites
	Group  uint64        // of its code; it is switched off together
	Sites  []*patch.Site // where it is, or is to be; none yet
}

// Place puts the code of every request at its points. Of several functions those that allowed refuses are left out, and skipped is told of them,
// as long as the constrained function itself is not among them and some are left of each variable's.
func (c *Code) Place(allowed func(*pcl.Request) error, skipped func(*pcl.Request, error)) error {
	bad := map[pcl.FuncID]error{}
	plan := c.Meter.Plan
	focus := c.Target.FocusFunctions(plan.Pair.Focus)
	c.Target.Sites.Plan(plan.Requests)
	for i := range plan.Requests {
		r := &plan.Requests[i]
		if err := allowed(r); err != nil {
			bad[r.Func] = err
		}
	}
	for i := range plan.Requests {
		r := &plan.Requests[i]
		if err := bad[r.Func]; err != nil {
			if focus[r.Func] {
				return err
			}
			skipped(r, err)
			continue
		}
		if _, err := c.Add(r); err != nil {
			return err
		}
	}
	return c.unplaced(bad)
}

// Add adds the code of one request to the sites of its points and returns them.
func (c *Code) Add(r *pcl.Request) (used []*patch.Site, err error) {
	used, err = c.atPoints(r)
	if err != nil {
		return nil, err
	}
	more, err := c.atLandings(r)
	if err != nil {
		return nil, err
	}
	used = append(used, more...)
	c.Sites = append(c.Sites, used...)
	return used, nil
}

// atPoints adds to the points of a request what it does there, and returns their sites.
func (c *Code) atPoints(r *pcl.Request) (used []*patch.Site, err error) {
	places, err := c.Target.Sites.Find(r)
	if err != nil {
		return nil, err
	}
	whole, err := c.Meter.Code(r)
	if err != nil {
		return nil, err
	}
	jumps, err := c.Meter.Code(r.WithoutReturn())
	if err != nil {
		return nil, err
	}
	ends := r.EndsActivations()
	for _, at := range places {
		code := whole
		if at.Kind.IsExit() && at.Kind != planner.Ret {
			code = jumps
		}
		used = append(used, at.Site)
		if ends && at.Site.Has(at.Point.Point, c.Owner, code) {
			continue // another function jumps there, too
		}
		at.Site.Add(at.Point.Point, c.Owner, c.Group, code, r.Prepend)
	}
	return used, nil
}

// atLandings adds to the landings what a request ends, and returns their sites.
func (c *Code) atLandings(r *pcl.Request) (used []*patch.Site, err error) {
	landings := c.Target.Sites.Landings(r)
	if len(landings) == 0 {
		return nil, nil
	}
	ends, err := c.Meter.Code(r.Ends())
	if err != nil {
		return nil, err
	}
	for _, at := range landings {
		code := slices.Clone(ends)
		at.Mark(code)
		if !at.Site.Has(at.Point.Point, c.Owner, code) {
			at.Site.Add(at.Point.Point, c.Owner, c.Group, code, true)
		}
		used = append(used, at.Site)
	}
	return used, nil
}

// unplaced reports why the value would be wrong for what was left out: a counter, a timer or a flag that no code is left for stays 0 for ever,
// and 0 would be taken for an answer. bad says which functions cannot be instrumented.
func (c *Code) unplaced(bad map[pcl.FuncID]error) error {
	plan := c.Meter.Plan
	written := map[int]bool{}
	for _, r := range plan.Requests {
		for _, in := range r.Code {
			written[in.Var] = written[in.Var] || bad[r.Func] == nil && !r.Follows && !c.Target.Sites.NeverComesBack(&r)
		}
	}
	for _, r := range plan.Requests {
		for _, in := range r.Code {
			switch {
			case written[in.Var] || r.Follows:
			case bad[r.Func] == nil:
				return &pcl.NoPoint{Pair: plan.Pair}
			default:
				return bad[r.Func]
			}
		}
	}
	return nil
}

// Forget forgets the sites where the code is not any more.
func (c *Code) Forget(out func(*patch.Site) bool) { c.Sites = slices.DeleteFunc(c.Sites, out) }

// ForgetGone forgets the sites in code that is not mapped any more. Whoever has the list of the sites keeps it as it was.
func (c *Code) ForgetGone() {
	c.Sites = slices.DeleteFunc(slices.Clone(c.Sites), func(s *patch.Site) bool { return s.Gone() })
}

// SwitchOff has the code jumped over by a store at each site. on tells whose code at the sites still runs.
func (c *Code) SwitchOff(on func(patch.Owner) bool) {
	for _, s := range c.Sites {
		c.Target.Text.SwitchOff(s, c.Group, on)
	}
}

// Drop takes back code that was only made to be looked at.
func (c *Code) Drop() {
	for _, s := range c.Sites {
		s.Drop(c.Owner)
	}
}

// Disturbs is why a site may not stay: it lies in a restartable sequence that was seen meanwhile. nil if none does.
func (c *Code) Disturbs() error {
	for _, s := range c.Sites {
		if err := c.Target.Sequences.Refusal(s); err != nil {
			return err
		}
	}
	return nil
}

// IsWide reports whether a site is too wide for a program that schedules its own contexts.
func (c *Code) IsWide() bool {
	return slices.ContainsFunc(c.Sites, func(s *patch.Site) bool { return contexts.Wide(s.Site) })
}
