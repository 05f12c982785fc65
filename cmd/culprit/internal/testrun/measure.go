package testrun

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"culprit/daemon/patch"
	"culprit/grid"
	"culprit/internal/procfs"
	"culprit/pcl"
	"culprit/pcl/pcltest"
	"culprit/session"
)

// measured is one span of measuring.
type measured struct {
	r    *run
	pid  int
	lib  *pcl.Library
	s    *session.Session
	over bool // s is closed: what it measured stays readable
}

// patience is how long an attach, and pairs, are tried again that are not possible yet: a busy machine may need more than one try.
const patience = 20 * time.Second

// measure attaches to a program, and enables the pairs that are expected up to the next measure.
func (r *run) measure(s pcltest.Measure, rest []pcltest.Step) error {
	if err := r.detach(); err != nil {
		return err
	}
	pid, err := r.target(s)
	if err != nil {
		return err
	}
	lib, err := library(r.file, r.test)
	if err != nil {
		return err
	}
	cfg := session.Config{PIDs: []int{pid}, Library: lib, Children: s.Children, Search: true, Guard: r.opts.Guard, Patience: patience}
	if r.opts.Verbose {
		cfg.Log = func(text string) { r.printf("      | culprit: %s", text) }
		cfg.OnEvent = r.searched
	}
	opened, err := session.Open(r.ctx, cfg)
	if err != nil {
		return err
	}
	r.measured = &measured{r: r, pid: pid, lib: lib, s: opened}
	keys, err := r.expected(rest)
	if err != nil {
		return err
	}
	opened.Enable(r.ctx, keys...)
	return nil
}

// target is the process that is measured.
func (r *run) target(s pcltest.Measure) (int, error) {
	if s.PID.Empty() {
		p, err := r.program(s.Who)
		if err != nil {
			return 0, err
		}
		return p.PID, nil
	}
	text, err := s.PID.Expand(r.value)
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(text)
	if err != nil || pid <= 1 {
		return 0, fmt.Errorf("%q is no number of a process", text)
	}
	return pid, r.ours(pid)
}

// ours makes sure that a process is one that the test started, or comes from one: others are not measured.
func (r *run) ours(pid int) error {
	for at, depth := pid, 0; at > 1 && depth < 64; depth++ {
		for _, p := range r.programs {
			if at == p.PID && !p.Over() {
				return nil
			}
		}
		at = parent(at)
	}
	return fmt.Errorf("process %d was not started by this test, nor by a program of it", pid)
}

// parent is the process that started another, 0 if it is not known.
func parent(pid int) int {
	s, _ := procfs.ReadStat(pid)
	return s.Parent
}

// expected lists the pairs of the statements up to the next measure; those that are enabled by a statement are left to it.
func (r *run) expected(rest []pcltest.Step) (keys []grid.PairKey, err error) {
	later := map[grid.PairKey]bool{}
	for _, s := range span(rest) {
		if e, ok := s.(pcltest.Enable); ok {
			key, err := r.key(e.Pair)
			if err != nil {
				return nil, err
			}
			later[key] = true
		}
	}
	for _, s := range span(rest) {
		if e, ok := s.(pcltest.Expect); ok {
			key, err := r.key(e.Pair)
			if err != nil {
				return nil, err
			}
			if !later[key] {
				keys = append(keys, key)
			}
		}
	}
	return keys, nil
}

// span is the statements before the next measure.
func span(steps []pcltest.Step) []pcltest.Step {
	for i, s := range steps {
		if _, ok := s.(pcltest.Measure); ok {
			return steps[:i]
		}
	}
	return steps
}

// key reads a pair.
func (r *run) key(p pcltest.Pair) (grid.PairKey, error) {
	f, err := r.focus(p.Focus)
	return grid.PairKey{Metric: p.Metric, Focus: f}, err
}

// enable begins to measure one pair more.
func (m *measured) enable(p pcltest.Pair) error {
	key, err := m.live(p)
	if err == nil {
		m.s.Enable(m.r.ctx, key)
	}
	return err
}

// disable ends measuring one pair.
func (m *measured) disable(p pcltest.Pair) error {
	key, err := m.live(p)
	if err == nil {
		m.s.Disable(key)
	}
	return err
}

// live reads a pair of a statement that needs measuring to go on.
func (m *measured) live(p pcltest.Pair) (grid.PairKey, error) {
	if m.over {
		return grid.PairKey{}, errOver
	}
	return m.r.key(p)
}

var errOver = errors.New("measuring is over: expect, check and stop end it")

// stop takes the values up to now, removes all probes, and makes sure that nothing is left in the program. One that has
// ended, or is ending, has nothing to be looked at.
func (m *measured) stop() error {
	if m == nil || m.over {
		return nil
	}
	m.over = true
	err := m.s.Close()
	if m.s.End() == session.EndTarget {
		return nil
	}
	if err != nil {
		return err
	}
	if !m.s.Report().RemovedClean {
		return errors.New("culprit could not remove all of its probes")
	}
	return m.verify()
}

// verify looks for what was left behind.
func (m *measured) verify() error {
	report, err := patch.Verify(m.pid)
	if err != nil || report.Clean() {
		return nil
	}
	return fmt.Errorf("culprit has left something behind in process %d: %+v", m.pid, report)
}

// detach ends measuring, if it goes on.
func (r *run) detach() error { return r.measured.stop() }
