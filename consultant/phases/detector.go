package phases

import "math"

// A Kind says what was found.
type Kind int

// The kinds.
const (
	Boundary Kind = iota // a phase ends and the next begins
	Repeats              // what looks like phases comes again and again: the phase goes on
)

// An Event is something that was found. Times are in s since the session began.
type Event struct {
	Kind   Kind
	At     float64 // of Boundary: where it is; of Repeats: since when
	Period float64 // of Repeats: s from one repetition to the next
}

const (
	testLag  = blockSize // ticks after which a peak is tested
	leastAge = 10        // ticks of a phase that must be known
	sure     = 5.5       // spreads by which the new level differs at least
	differs  = 0.3       // parts of the larger level, summed over the metrics, by which a phase differs from the one before at least
	lasting  = 0.5       // of the change that every part of what follows must have
	louder   = 1.5       // times as much as the peaks before it a peak must differ
)

// A Detector finds the boundaries of phases while readings come. See the package comment.
type Detector struct {
	least []float64
	ticks ticks
	curve curve
	usual []usual
	from  int     // first tick of the phase
	loud  float64 // the largest score of a peak of this phase that was none, fading
	rhythm
}

// New makes a detector for as many metrics as there are in least: of each what counts as much, in its unit; a metric that stays far below it says nothing.
func New(least []float64) *Detector {
	d := &Detector{least: append([]float64(nil), least...), ticks: newTicks(len(least))}
	d.restart()
	return d
}

// restart forgets everything.
func (d *Detector) restart() {
	d.curve, d.rhythm = newCurve(d.least), rhythm{}
	d.begin(0)
}

// begin starts a phase with a tick.
func (d *Detector) begin(tick int) {
	d.usual, d.from, d.loud = make([]usual, len(d.least)), tick, 0
}

// Add takes a reading of a metric: its average over (start, end], in s since the session began. Readings of one metric come in order of time; what is no
// number, or ends no later than it begins, is left out. It returns what was found with it, in order of time.
func (d *Detector) Add(metric int, start, end, value float64) (found []Event) {
	if !(start >= 0 && start < end) || math.IsInf(end, 0) || math.IsNaN(value) || math.IsInf(value, 0) {
		return nil
	}
	t := &d.ticks
	if !t.begun || t.beyond(start) {
		t.begin(start)
		d.restart()
		d.from = t.next
	}
	for t.isFull(end) {
		t.close()
		found = append(found, d.step()...)
	}
	t.add(metric, start, end, value)
	for t.ready() {
		t.close()
		found = append(found, d.step()...)
	}
	return found
}

// step looks at what the newest tick tells.
func (d *Detector) step() (found []Event) {
	d.curve.add(&d.ticks, d.least)
	p := d.ticks.next - 1 - testLag
	if p < d.from {
		return nil
	}
	if d.curve.isPeak(p) {
		c := d.change(p)
		if c.real(max(sure, louder*d.loud)) {
			return d.turn(p, c)
		}
		d.loud = max(d.loud, c.score*min(c.lasts/lasting, 1))
	}
	d.loud *= forget
	for m := range d.usual {
		d.usual[m].add(d.ticks.at(p, m))
	}
	return d.lookForRhythm()
}

// A change is what differs after a tick from what was usual before.
type change struct {
	by    []float64 // of each metric; NaN where it is not known
	level []float64 // what it is after the tick
	score float64   // how many spreads, the metrics together
	parts float64   // how many parts of the larger level, summed over the metrics
	lasts float64   // the least part of the change that there is in any part of the block
}

func (c change) real(threshold float64) bool {
	return c.score >= threshold && c.parts >= differs && c.lasts >= lasting
}

// change compares the block after a tick with the phase so far.
func (d *Detector) change(p int) change {
	c := change{by: make([]float64, len(d.usual)), level: make([]float64, len(d.usual))}
	weight := make([]float64, len(d.usual))
	for m := range d.usual {
		u := &d.usual[m]
		after, variance, n := d.ticks.mean(m, p+1, p+1+testLag)
		c.by[m], c.level[m] = math.NaN(), math.NaN()
		if u.n < leastAge || n < 2*testLag/3 {
			continue
		}
		by := after - u.mean
		larger := max(math.Abs(u.mean), math.Abs(after), d.least[m])
		s := math.Sqrt(u.spread()*u.spread()+variance*ofBlock(u.correlation())) + 0.02*larger
		c.by[m], c.level[m] = by, after
		if z := math.Abs(by) / s; z > 2 {
			c.score += z * z
			c.parts += math.Abs(by) / larger
			weight[m] = by / (s * s)
		}
	}
	c.lasts = d.lasts(c, weight, p)
	c.score = math.Sqrt(c.score)
	return c
}

// lasts is the least part of the change that there is in any third of the block, or at its end.
func (d *Detector) lasts(c change, weight []float64, p int) float64 {
	least := math.Inf(1)
	for _, part := range [][2]int{{1, 5}, {5, 9}, {9, 13}, {11, 13}} {
		least = min(least, d.along(c, weight, p+part[0], p+part[1]))
	}
	return least
}

// along is how much of the change there is in some ticks, 1 for all of it.
func (d *Detector) along(c change, weight []float64, a, b int) float64 {
	there, all := 0.0, 0.0
	for m, w := range weight {
		if w == 0 {
			continue
		}
		if v, _, n := d.ticks.mean(m, a, b); n > 0 {
			there += w * (v - d.usual[m].mean)
			all += w * c.by[m]
		}
	}
	if all == 0 {
		return 0
	}
	return there / all
}
