package testrun

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"culprit/consultant"
	"culprit/daemon"
	"culprit/daemon/process"
	"culprit/grid"
	"culprit/internal/procfs"
	"culprit/pcl"
	"culprit/pcl/pcltest"
)

// measured is one span of measuring.
type measured struct {
	r       *run
	pid     int
	lib     *pcl.Library
	d       *daemon.Daemon // nil once it is over
	g       *grid.Grid
	refused map[grid.PairKey]error // why pairs are not measured
	asked   map[grid.PairKey]bool
	finder  *consultant.Search      // nil before the first search
	notes   map[grid.PairKey]string // what their values do not tell of
	placed  map[grid.PairKey]int    // in how many places the probes of pairs that have some were, when measuring ended
}

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
	opts := daemon.Options{Library: lib, Children: s.Children, Guard: r.opts.Guard}
	if r.opts.Verbose {
		opts.Log = func(text string) { r.printf("      | culprit: %s", text) }
	}
	d, err := r.attach(opts, pid)
	if err != nil {
		return err
	}
	r.measured = &measured{
		r: r, pid: pid, lib: lib, d: d, g: grid.New(d, lib.Metric, d.Now), refused: map[grid.PairKey]error{}, asked: map[grid.PairKey]bool{}, placed: map[grid.PairKey]int{}, notes: map[grid.PairKey]string{},
	}
	keys, err := r.expected(rest)
	if err != nil {
		return err
	}
	return r.measured.enableAll(keys)
}

// attach tries again where a busy machine needs it.
func (r *run) attach(opts daemon.Options, pid int) (*daemon.Daemon, error) {
	for deadline := time.Now().Add(enableTime); ; r.pause(retryEvery) {
		d, err := daemon.Attach(r.ctx, opts, pid)
		if !deferred(err) || r.ctx.Err() != nil || time.Now().After(deadline) {
			return d, err
		}
	}
}

// deferred reports whether it may be possible later.
func deferred(err error) bool {
	var later grid.ErrDeferred
	var stop *process.Deferred
	return errors.As(err, &later) || errors.As(err, &stop)
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

// enableTime is how long pairs are tried again that could not be enabled at once: a busy machine may need more than one try.
const enableTime = 20 * time.Second

// enableAll enables pairs in one batch and keeps why some cannot be.
func (m *measured) enableAll(keys []grid.PairKey) error {
	var want []grid.PairKey
	for _, k := range keys {
		if err := m.lib.Check(k.Metric, k.Focus); err != nil {
			m.refused[k] = err
		} else if !m.asked[k] {
			want = append(want, k)
		}
		m.asked[k] = true
	}
	for deadline := time.Now().Add(enableTime); len(want) > 0; m.r.pause(retryEvery) {
		want = m.try(want)
		if m.r.ctx.Err() != nil || time.Now().After(deadline) {
			break
		}
	}
	return nil
}

// try enables pairs and returns those for which it may be possible later.
func (m *measured) try(keys []grid.PairKey) (later []grid.PairKey) {
	for _, a := range m.g.Enable(keys...) {
		delete(m.refused, a.Key)
		if a.Err != nil {
			m.refused[a.Key] = a.Err
		}
		if deferred(a.Err) {
			later = append(later, a.Key)
		}
	}
	return later
}

// enable begins to measure one pair more.
func (m *measured) enable(p pcltest.Pair) error {
	key, err := m.live(p)
	if err != nil {
		return err
	}
	delete(m.asked, key)
	return m.enableAll([]grid.PairKey{key})
}

// disable ends measuring one pair.
func (m *measured) disable(p pcltest.Pair) error {
	key, err := m.live(p)
	if err == nil {
		m.g.Disable(key)
	}
	return err
}

// live reads a pair of a statement that needs measuring to go on.
func (m *measured) live(p pcltest.Pair) (grid.PairKey, error) {
	if m.d == nil {
		return grid.PairKey{}, errors.New("measuring is over: expect, check and stop end it")
	}
	return m.r.key(p)
}

// stop takes the values up to now, removes all probes, and makes sure that nothing is left in the program.
func (m *measured) stop() error {
	if m == nil || m.d == nil {
		return nil
	}
	d := m.d
	m.d = nil
	for key := range m.asked {
		if n, ok := d.Placed(key); ok {
			m.placed[key] = n
		}
		m.notes[key] = d.Notes(key)
	}
	m.g.DisableAll()
	ended := false
	select {
	case <-d.Ended():
		ended = true
	default:
	}
	clean, err := d.Detach()
	if err != nil && !ended {
		return err
	}
	if !clean && !ended {
		return errors.New("culprit could not remove all of its probes")
	}
	return m.verify(ended)
}

// verify looks for what was left behind. A program that has ended, or is ending, has nothing to be looked at.
func (m *measured) verify(ended bool) error {
	if ended {
		return nil
	}
	report, err := daemon.Verify(m.pid)
	if err != nil || report.Clean() {
		return nil
	}
	return fmt.Errorf("culprit has left something behind in process %d: %+v", m.pid, report)
}

// detach ends measuring, if it goes on.
func (r *run) detach() error { return r.measured.stop() }
