package phases

import "math"

const (
	tickTime  = 0.2 // s; as often as values are read where CPUs are idle
	keptTicks = 512 // closed ticks that are kept
	openTicks = 40  // ticks that may wait for the metric that is read last
	staleTime = 0.3 // s that a metric may be late, beside one and a half of its last reading
	longest   = 6.0 // s; of a longer reading only the end counts: it says nothing of when
	halfTick  = tickTime / 2
)

// ticks puts the readings of metrics side by side: a value of each for every tick of session time, NaN where less than half of the tick is known.
type ticks struct {
	metrics int
	begun   bool
	next    int       // the tick that is closed next; tick k is the time from k to k+1 times tickTime
	values  []float64 // a ring of closed ticks, a value of each metric
	sums    []float64 // a ring of open ticks: value times s
	cover   []float64 // and how many s of it are known
	until   []float64 // of each metric: the end of the last reading
	length  []float64 // and how long that was, in s
	newest  float64   // the largest of until
}

func newTicks(metrics int) ticks {
	return ticks{metrics: metrics, values: make([]float64, keptTicks*metrics), sums: make([]float64, openTicks*metrics), cover: make([]float64, openTicks*metrics),
		until: make([]float64, metrics), length: make([]float64, metrics)}
}

// begin starts with the tick in which a time is.
func (t *ticks) begin(at float64) {
	*t = newTicks(t.metrics)
	t.begun, t.next = true, int(math.Floor(at/tickTime))
}

// beyond tells that a reading begins so late that nothing before it is worth keeping.
func (t *ticks) beyond(start float64) bool {
	return start > float64(t.next+keptTicks)*tickTime
}

// add spreads a reading over the ticks that are open. There is room for it: isFull is false.
func (t *ticks) add(metric int, start, end, value float64) {
	t.until[metric], t.length[metric] = max(t.until[metric], end), min(end-start, longest)
	t.newest = max(t.newest, end)
	start = max(start, end-longest, float64(t.next)*tickTime)
	for k := int(math.Floor(start / tickTime)); k < t.next+openTicks; k++ {
		part := min(end, float64(k+1)*tickTime) - max(start, float64(k)*tickTime)
		if float64(k)*tickTime >= end {
			return
		}
		if part > 0 && k >= t.next {
			i := k%openTicks*t.metrics + metric
			t.sums[i] += part * value
			t.cover[i] += part
		}
	}
}

// isFull tells that ticks must be closed before a reading finds room.
func (t *ticks) isFull(end float64) bool { return end > float64(t.next+openTicks-1)*tickTime }

// ready tells that nothing more will come for the next tick: all metrics are read beyond its end, but for those that are late.
func (t *ticks) ready() bool {
	edge := float64(t.next+1)*tickTime - 1e-9
	if !t.begun || t.newest < edge {
		return false
	}
	for m, u := range t.until {
		if late := t.newest - u; u > 0 && u < edge && late < 1.5*t.length[m]+staleTime {
			return false
		}
	}
	return true
}

// close closes the next tick.
func (t *ticks) close() {
	for m := range t.metrics {
		o, v := t.next%openTicks*t.metrics+m, t.next%keptTicks*t.metrics+m
		t.values[v] = math.NaN()
		if t.cover[o] >= halfTick-1e-9 {
			t.values[v] = t.sums[o] / t.cover[o]
		}
		t.sums[o], t.cover[o] = 0, 0
	}
	t.next++
}

// at is the value of a metric in a closed tick; NaN if it is not known.
func (t *ticks) at(k, metric int) float64 {
	if k < 0 || k >= t.next || k < t.next-keptTicks {
		return math.NaN()
	}
	return t.values[k%keptTicks*t.metrics+metric]
}

// mean is the mean of a metric over the ticks from a to b, b left out, with its variance and how many are known.
func (t *ticks) mean(metric, a, b int) (mean, variance float64, n int) {
	m2 := 0.0
	for k := a; k < b; k++ {
		if v := t.at(k, metric); v == v {
			n++
			d := v - mean
			mean += d / float64(n)
			m2 += d * (v - mean)
		}
	}
	if n > 1 {
		variance = m2 / float64(n-1)
	}
	return mean, variance, n
}
