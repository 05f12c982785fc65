package replay

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"culprit/grid"
	"culprit/grid/wire"
)

// maxRecords bounds what is read of a recording.
const maxRecords = 10_000_000

// A Recording is what a daemon told in one session. It does not change.
type Recording struct {
	seconds   float64 // how long it is, on the session's clock
	resources []timed[wire.Resource]
	targets   []timed[[]grid.TargetInfo]
	status    []timed[wire.Status]
	pairs     map[grid.PairKey]*measured
	steps     map[question][]timed[[]grid.Focus]
	weights   map[grid.Focus][]timed[wire.Weights]
	pairNotes map[grid.PairKey]wire.Description
	unseen    map[string]string
	sources   map[grid.Focus]wire.Source
	holders   map[grid.Focus][]grid.Holder
	idle      grid.Idle
	loops     map[wire.ListLoops][]string
	keys      map[uint32]grid.PairKey
	account   wire.Account
}

// A timed is something that was so from a time on, in s of the session.
type timed[T any] struct {
	at float64
	v  T
}

// at is what was so at a time: the last before it, else the first.
func at[T any](list []timed[T], t float64) (v T, ok bool) {
	if len(list) == 0 {
		return v, false
	}
	i, found := slices.BinarySearchFunc(list, t, func(x timed[T], t float64) int { return compare(x.at, t) })
	if !found {
		i--
	}
	return list[max(i, 0)].v, true
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// measured is what a pair was while it was measured.
type measured struct {
	tier   string
	err    *wire.Error // of the first time, if it never was
	price  *wire.Price
	values []wire.Value // in order of time
}

type question struct {
	f grid.Focus
	h grid.Hierarchy
}

// Load reads a recording. One that is cut off is read as far as it goes. The error says that it is none.
func Load(r io.Reader) (*Recording, error) {
	l := loader{rec: &Recording{pairs: map[grid.PairKey]*measured{}, steps: map[question][]timed[[]grid.Focus]{}, weights: map[grid.Focus][]timed[wire.Weights]{},
		pairNotes: map[grid.PairKey]wire.Description{}, unseen: map[string]string{}, sources: map[grid.Focus]wire.Source{}, holders: map[grid.Focus][]grid.Holder{},
		loops: map[wire.ListLoops][]string{}}, commands: map[uint64]*wire.Command{}, keys: map[uint32]grid.PairKey{}}
	in := cbor.NewDecoder(r)
	for range maxRecords {
		var one record
		switch err := in.Decode(&one); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return l.done()
		case err != nil:
			return nil, fmt.Errorf("this is no recording, or it is damaged: %w", err)
		}
		if err := l.take(&one); err != nil {
			return nil, fmt.Errorf("the recording is damaged: %w", err)
		}
	}
	return nil, fmt.Errorf("the recording has more than %d messages", maxRecords)
}

// A loader puts a recording together. Batches are taken in their order, whatever the order in which they came.
type loader struct {
	rec      *Recording
	order    wire.Order[*wire.Batch]
	commands map[uint64]*wire.Command
	keys     map[uint32]grid.PairKey
	now      float64 // s of the session
	attached bool
}

func (l *loader) take(one *record) error {
	switch {
	case one.Command != nil:
		l.commands[one.Command.Number] = one.Command
		return l.number(one.Command)
	case one.Batch != nil:
		turn, _ := l.order.Put(one.Batch.Number, one.Batch, timeZero) // one that came before changes nothing
		for _, b := range turn {
			if err := l.batch(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// number notes under which numbers pairs go.
func (l *loader) number(c *wire.Command) error {
	for _, list := range []*wire.Pairs{c.Enable, c.Price, c.Disable} {
		if list == nil {
			continue
		}
		for _, p := range list.Keys {
			k, err := p.Key()
			if err != nil {
				return err
			}
			l.keys[p.ID] = k
		}
	}
	return nil
}

func (l *loader) batch(b *wire.Batch) error {
	if b.Status != nil {
		l.now = max(l.now, b.Status.At)
		l.rec.status = append(l.rec.status, timed[wire.Status]{l.now, *b.Status})
		if err := l.weighed(b.Status.Weighed); err != nil {
			return err
		}
	}
	for _, v := range b.Values {
		if k, ok := l.keys[v.ID]; ok {
			l.pair(k).values = append(l.pair(k).values, v)
			l.now = max(l.now, v.End)
		}
	}
	for _, r := range b.Resources {
		l.rec.resources = append(l.rec.resources, timed[wire.Resource]{l.now, r})
	}
	if b.Targets != nil {
		l.rec.targets = append(l.rec.targets, timed[[]grid.TargetInfo]{l.now, b.Targets})
	}
	for i := range b.Answers {
		if c := l.commands[b.Answers[i].Command]; c != nil {
			if err := l.answer(c, &b.Answers[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *loader) pair(k grid.PairKey) *measured {
	m := l.rec.pairs[k]
	if m == nil {
		m = &measured{}
		l.rec.pairs[k] = m
	}
	return m
}

func (l *loader) weighed(list []wire.Weighed) error {
	for _, w := range list {
		f, err := w.Focus.Focus()
		if err != nil {
			return err
		}
		l.rec.weights[f] = append(l.rec.weights[f], timed[wire.Weights]{l.now, w.Weights})
	}
	return nil
}

// answer takes what a command was answered.
func (l *loader) answer(c *wire.Command, a *wire.Answer) error {
	switch {
	case c.Attach != nil && a.Err == nil:
		l.attached, l.now = true, max(l.now, a.Now)
	case c.Enable != nil:
		for i, p := range c.Enable.Keys[:min(len(c.Enable.Keys), len(a.Results))] {
			m := l.pair(l.keys[p.ID])
			if r := a.Results[i]; r.Err == nil {
				m.tier, m.err = r.Tier, nil
			} else if m.tier == "" {
				m.err = r.Err
			}
		}
	case c.Price != nil:
		for i, p := range c.Price.Keys[:min(len(c.Price.Keys), len(a.Prices))] {
			l.pair(l.keys[p.ID]).price = &a.Prices[i]
		}
	case c.Refine != nil:
		return l.stepped(a.Steps)
	case c.Weigh != nil:
		return l.weighed(a.Weighed)
	case c.ListLoops != nil:
		l.rec.loops[*c.ListLoops] = a.Names
	case c.Describe != nil && a.Descriptions != nil:
		return l.described(c.Describe, a.Descriptions)
	case c.Account != nil && a.Account != nil:
		l.rec.account = *a.Account
	}
	return nil
}

func (l *loader) stepped(steps []wire.Step) error {
	for _, s := range steps {
		f, err := s.Question.Focus.Focus()
		if err != nil {
			return err
		}
		q, to := question{f, grid.Hierarchy(s.Question.Hierarchy)}, []grid.Focus(nil)
		for _, w := range s.To {
			g, err := w.Focus.Focus()
			if err != nil {
				return err
			}
			to = append(to, g)
		}
		l.rec.steps[q] = append(l.rec.steps[q], timed[[]grid.Focus]{l.now, to})
		if err := l.weighed(append(s.To, wire.Weighed{Focus: s.Question.Focus, Weights: s.Weights})); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) described(c *wire.Describe, a *wire.Descriptions) error {
	for i, p := range c.Pairs[:min(len(c.Pairs), len(a.Pairs))] {
		k, err := p.Key()
		if err != nil {
			return err
		}
		l.rec.pairNotes[k] = a.Pairs[i]
	}
	for i, m := range c.Metrics[:min(len(c.Metrics), len(a.Unseen))] {
		l.rec.unseen[m] = a.Unseen[i]
	}
	for i, w := range c.Sources[:min(len(c.Sources), len(a.Sources))] {
		f, err := w.Focus()
		if err != nil {
			return err
		}
		l.rec.sources[f] = a.Sources[i]
	}
	for i, w := range c.Holders[:min(len(c.Holders), len(a.Holders))] {
		f, err := w.Focus()
		if err != nil {
			return err
		}
		l.rec.holders[f] = a.Holders[i]
	}
	if c.Idle && a.Idle != nil {
		l.rec.idle = *a.Idle
	}
	return nil
}

func (l *loader) done() (*Recording, error) {
	if !l.attached {
		return nil, errors.New("the recording has no session in which a process was attached")
	}
	l.rec.seconds, l.rec.keys = l.now, l.keys
	for _, m := range l.rec.pairs {
		slices.SortStableFunc(m.values, func(a, b wire.Value) int { return compare(a.End, b.End) })
	}
	return l.rec, nil
}
