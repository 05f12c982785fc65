package consultant

// maxSamples bounds the recorded values of a node.
const maxSamples = 1000

// A history is the value of a node over time in at most maxSamples samples. When it is full, neighbours are merged,
// as in the folding histogram, and from then on as many values are averaged into each sample.
// Samples that were handed out never change: the slice is replaced when it folds.
type history struct {
	samples []Sample
	every   int // values per sample; 0 counts as 1
	sum     float64
	count   int
}

// add records a value for the bin that ended at time at (s since session start).
func (h *history) add(at, value float64) {
	if h.every == 0 {
		h.every = 1
	}
	h.sum += value
	h.count++
	if h.count < h.every {
		return
	}
	if len(h.samples) == maxSamples {
		h.fold()
	}
	h.samples = append(h.samples, Sample{At: at, Value: h.sum / float64(h.count)})
	h.sum, h.count = 0, 0
}

func (h *history) fold() {
	half := make([]Sample, 0, maxSamples)
	for i := 0; i+1 < len(h.samples); i += 2 {
		a, b := h.samples[i], h.samples[i+1]
		half = append(half, Sample{At: b.At, Value: (a.Value + b.Value) / 2})
	}
	h.samples = half
	h.every *= 2
}

// view returns the samples so far without copying them.
func (h *history) view() []Sample { return h.samples[:len(h.samples):len(h.samples)] }

// last is when the last value was recorded; 0 if none was.
func (h *history) last() float64 {
	if len(h.samples) == 0 {
		return 0
	}
	return h.samples[len(h.samples)-1].At
}

// mean is the average of what was recorded from one time to another; ok is false if nothing was.
func (h *history) mean(from, to float64) (v float64, ok bool) {
	n := 0.0
	for i := len(h.samples) - 1; i >= 0 && h.samples[i].At >= from; i-- {
		if h.samples[i].At <= to {
			v, n = v+h.samples[i].Value, n+1
		}
	}
	return v / max(n, 1), n > 0
}
