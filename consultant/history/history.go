// Package history keeps the value of a node of the search over time in bounded memory, for screens and for comparing nodes.
//
// It is pure, imports nothing of the house, and has no lock: whoever owns a History guards it.
package history

// Max bounds the samples of a History.
const Max = 1000

// A Sample is one judged value of a node.
type Sample struct{ At, Value float64 } // At in s since session start

// A History is the value of a node over time in at most Max samples; its zero value is empty. When it is full, neighbours are merged,
// as in the folding histogram, and from then on as many values are averaged into each sample.
// Samples that were handed out never change: the slice is replaced when it folds.
type History struct {
	samples []Sample
	every   int // values per sample; 0 counts as 1
	sum     float64
	count   int
	last    float64 // s; end of the bin of the last value
}

// Add records a value for the bin that ended at time at (s since session start).
func (h *History) Add(at, value float64) {
	if h.every == 0 {
		h.every = 1
	}
	h.sum += value
	h.count++
	h.last = at
	if h.count < h.every {
		return
	}
	if len(h.samples) == Max {
		h.fold()
	}
	h.samples = append(h.samples, Sample{At: at, Value: h.sum / float64(h.count)})
	h.sum, h.count = 0, 0
}

func (h *History) fold() {
	half := make([]Sample, 0, Max)
	for i := 0; i+1 < len(h.samples); i += 2 {
		a, b := h.samples[i], h.samples[i+1]
		half = append(half, Sample{At: b.At, Value: (a.Value + b.Value) / 2})
	}
	h.samples = half
	h.every *= 2
}

// View returns the samples so far without copying them.
func (h *History) View() []Sample { return h.samples[:len(h.samples):len(h.samples)] }

// Last is when the bin of the last value ended, also where that is not in a sample yet; 0 if there was none.
func (h *History) Last() float64 { return h.last }

// Mean is the average of what was recorded from one time to another; ok is false if nothing was.
func (h *History) Mean(from, to float64) (v float64, ok bool) {
	n := 0.0
	for i := len(h.samples) - 1; i >= 0 && h.samples[i].At >= from; i-- {
		if h.samples[i].At <= to {
			v, n = v+h.samples[i].Value, n+1
		}
	}
	return v / max(n, 1), n > 0
}
