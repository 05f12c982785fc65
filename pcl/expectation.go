package pcl

import (
	"slices"

	"culprit/grid"
)

// Value is the left side of a comparison, for messages; 0 for a hypothesis.
func (e *Expectation) Value(get func(metric string) float64) float64 {
	if e.value == nil {
		return 0
	}
	return e.value(get)
}

// Threshold is the right side of a comparison, for messages; 0 for a hypothesis.
func (e *Expectation) Threshold(get func(metric string) float64) float64 {
	if e.threshold == nil {
		return 0
	}
	return e.threshold(get)
}

// measurable reports why an expectation can be measured in no target: one of its metrics cannot be restricted to the focus.
func (b *builder) measurable(e *Expectation) error {
	metrics, global := e.Metrics, e.Global
	if i := slices.IndexFunc(b.hypotheses, func(h *Hypothesis) bool { return h.Name == e.Hypothesis }); i >= 0 {
		metrics, global = b.hypotheses[i].Metrics, b.hypotheses[i].Global
	}
	item, err := b.lib.Item(e.Focus)
	if err != nil {
		return err
	}
	for _, name := range metrics {
		focus, it := e.Focus, item
		if slices.Contains(global, name) {
			focus, it = grid.Whole(), nil
		}
		if _, err := b.metric(name).match(focus, it); err != nil {
			return err
		}
	}
	return nil
}
