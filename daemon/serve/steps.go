package serve

import (
	"culprit/grid"
	"culprit/grid/wire"
)

// Bounds of one answer to Refine.
const (
	maxQuestions = 1024
	maxSteps     = 512
	maxReached   = 4096 // foci in all steps together
)

// refine answers what was asked, and along Code goes on below the foci that samples were seen in, widest first.
func (s *server) refine(c *wire.Refine) (a wire.Answer, err error) {
	if len(c.Questions) > maxQuestions {
		return a, wire.ErrCommand{Why: "too many questions at once"}
	}
	w := walk{d: s.daemon, done: map[question]bool{}}
	for _, q := range c.Questions {
		f, err := q.Focus.Focus()
		if err != nil {
			return a, err
		}
		w.queue = append(w.queue, question{f, grid.Hierarchy(q.Hierarchy)})
	}
	asked := len(w.queue)
	for i := 0; i < len(w.queue); i++ {
		if i >= asked && (len(w.steps) >= maxSteps || w.reached >= maxReached) {
			break
		}
		w.step(w.queue[i])
	}
	a.Steps = w.steps
	return a, nil
}

type question struct {
	f grid.Focus
	h grid.Hierarchy
}

// A walk answers questions, and those that follow from the answers.
type walk struct {
	d       Daemon
	queue   []question
	done    map[question]bool
	steps   []wire.Step
	reached int
}

func (w *walk) step(q question) {
	if w.done[q] {
		return
	}
	w.done[q] = true
	step := wire.Step{Question: wire.Question{Focus: wire.FocusOf(q.f), Hierarchy: uint8(q.h)}, Weights: weightsOf(w.d, q.f)}
	for _, f := range w.d.Refinements(q.f, q.h) {
		weights := weightsOf(w.d, f)
		step.To = append(step.To, wire.Weighed{Focus: wire.FocusOf(f), Weights: weights})
		if q.h == grid.Code && weights != (wire.Weights{}) {
			w.queue = append(w.queue, question{f, q.h})
		}
	}
	w.reached += len(step.To)
	w.steps = append(w.steps, step)
}

func weightsOf(d Daemon, f grid.Focus) (w wire.Weights) {
	for i, kind := range wire.WeightKinds {
		w[i] = d.Weight(f, kind)
	}
	return w
}

// maxWeighed bounds how many foci are weighed for one client.
const maxWeighed = 1024

// weigh answers with the weights of foci, and has them told with each status for a while.
func (s *server) weigh(c *wire.Weigh) (a wire.Answer, err error) {
	if len(c.Foci) > maxWeighed {
		return a, wire.ErrCommand{Why: "too many foci at once"}
	}
	foci := make([]grid.Focus, len(c.Foci))
	for i, w := range c.Foci {
		if foci[i], err = w.Focus(); err != nil {
			return a, err
		}
	}
	s.out.weigh(foci)
	a.Weighed = weighed(s.daemon, foci)
	return a, nil
}

func weighed(d Daemon, foci []grid.Focus) (out []wire.Weighed) {
	for _, f := range foci {
		out = append(out, wire.Weighed{Focus: wire.FocusOf(f), Weights: weightsOf(d, f)})
	}
	return out
}
