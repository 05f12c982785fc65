package consultant

import "fmt"

// Refinement by hand. These may be called while Run runs; they take effect with its next step.

// Expand refines a node along all the ways that are left to it, whatever its state. It is an error if there is no such
// node, its phase is over, or all its refinements have been tested.
func (s *Search) Expand(id int) error {
	return s.byHand(id, "expanded", func(n *node, _ float64) error {
		steps := []step{{why: true}}
		for _, h := range n.hyp.Refine {
			steps = append(steps, step{h: h})
		}
		added := false
		for _, st := range steps {
			if (!st.why || len(n.hyp.Children) > 0) && !n.walked(st) {
				n.ask(st)
				added = true
			}
		}
		n.plan = nil
		if !added {
			return fmt.Errorf("node %d cannot be refined further: all its refinements have been tested", id)
		}
		return nil
	})
}

// Prune stops the test of a node and of what hangs on it alone; none of them is tested until Retest. It is an error if there is no such node or it is the root.
func (s *Search) Prune(id int) error {
	return s.byHand(id, "pruned", func(n *node, _ float64) error {
		if n.isRoot() {
			return fmt.Errorf("node %d is the root of its phase, which cannot be pruned; end the search instead", id)
		}
		cut := map[*node]bool{n: true}
		n.prune("pruned by hand")
		n.descend(func(m *node) bool {
			if m == n {
				return true
			}
			for _, p := range m.parents {
				if !cut[p] {
					return false
				}
			}
			cut[m] = true
			m.prune(fmt.Sprintf("pruned with node %d", id))
			return true
		})
		return nil
	})
}

// Retest tests a node again from the beginning, also one that was pruned, refused or never tested.
func (s *Search) Retest(id int) error {
	return s.byHand(id, "to be tested again", func(n *node, _ float64) error {
		if n.isRoot() {
			return fmt.Errorf("node %d is the root of its phase and holds by definition; choose one below it", id)
		}
		n.ByHand = true
		s.requeue(n, "tested again by hand")
		s.budget.Forget(n.pairs)
		return nil
	})
}

// Pin keeps a node under observation whatever its answer is, and takes it out of what is stopped to save cost; with on
// false it is treated like any other again.
func (s *Search) Pin(id int, on bool) error {
	what := "unpinned"
	if on {
		what = "pinned"
	}
	return s.byHand(id, what, func(n *node, now float64) error {
		if n.isRoot() {
			return fmt.Errorf("node %d is the root of its phase: there is nothing to observe; choose one below it", id)
		}
		n.Pinned = on
		s.graph.copies.Changed(id - 1)
		switch {
		case !on:
			if n.watched && n.state == False && !n.persistent() {
				n.release(n.reason)
			}
		case n.watched:
		case n.state == True || n.state == False && !n.byShare():
			s.requeue(n, "tested again, since it was pinned")
		case n.state == Never && !n.phase.over():
			s.requeue(n, "pinned")
		}
		return nil
	})
}

// byHand runs a change under the lock and records it. Phases that are over take no changes.
func (s *Search) byHand(id int, what string, change func(n *node, now float64) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.graph.get(id)
	if err != nil {
		return err
	}
	if n.phase.over() {
		return fmt.Errorf("node %d belongs to phase %q, which is over; choose a node of a phase that goes on", id, n.phase.Name)
	}
	if err := change(n, s.cfg.now()); err != nil {
		return err
	}
	s.alarm.Wish()
	s.say(n, "%s by hand", what)
	return nil
}
