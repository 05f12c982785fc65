package phases

import "math"

const (
	reach     = 4               // ticks on each side of the middle of the window that smooths: nine together
	fewest    = 5               // of them must be known
	curveLag  = 2 * reach       // ticks after which the boundary curve is known
	keptCurve = 64              // ticks of the curves that are kept
	stepReach = 2 * reach       // ticks on each side within which the height of a step is looked for
	fadeScale = 1 - 1.0/(5*300) // each tick, of the largest value of a metric: in five minutes it fades to a third
)

// A curve is the boundary curve of all metrics together. Metrics are told apart no longer: each is taken as a part of its largest value.
type curve struct {
	metrics int
	smooth  []float64 // a ring, a value of each metric; NaN where it is not known
	sum     []float64 // a ring: the boundary curve
	largest []float64 // of each metric, fading
}

func newCurve(least []float64) curve {
	c := curve{metrics: len(least), smooth: make([]float64, keptCurve*len(least)), sum: make([]float64, keptCurve), largest: append([]float64(nil), least...)}
	for i := range c.smooth {
		c.smooth[i] = math.NaN()
	}
	return c
}

// add goes on to the newest closed tick: it smooths up to reach ticks before it, and draws the boundary curve up to curveLag ticks before it.
func (c *curve) add(t *ticks, least []float64) {
	n := t.next - 1
	for m := range c.metrics {
		v := smoothed(t, n-reach, m)
		c.smooth[(n-reach+keptCurve)%keptCurve*c.metrics+m] = v
		c.largest[m] = max(c.largest[m]*fadeScale, least[m])
		if v == v {
			c.largest[m] = max(c.largest[m], math.Abs(v))
		}
	}
	c.sum[(n-curveLag+keptCurve)%keptCurve] = c.boundary(n - curveLag)
}

// smoothed is the average over the window around a tick, weighing the middle most and the edges least; NaN if too little of it is known.
func smoothed(t *ticks, k, metric int) float64 {
	sum, weights, n := 0.0, 0.0, 0
	for i := -reach; i <= reach; i++ {
		if v := t.at(k+i, metric); v == v {
			w := float64(reach + 1 - max(i, -i))
			sum, weights, n = sum+w*v, weights+w, n+1
		}
	}
	if n < fewest {
		return math.NaN()
	}
	return sum / weights
}

// boundary is the boundary curve at a tick: of each metric the slope times the height of the step that it is a part of.
func (c *curve) boundary(k int) float64 {
	sum := 0.0
	for m := range c.metrics {
		slope := (c.at(k+1, m) - c.at(k-1, m)) / (2 * tickTime)
		if slope != slope || slope == 0 {
			continue
		}
		height := c.follow(k, m, 1, slope) - c.follow(k, m, -1, slope)
		sum += math.Abs(slope*height) / (c.largest[m] * c.largest[m])
	}
	return sum
}

// follow is the extreme that the smoothed metric reaches from a tick on in a direction, as long as it rises or falls as the slope says.
func (c *curve) follow(k, metric, direction int, slope float64) float64 {
	v := c.at(k, metric)
	for i := 1; i <= stepReach; i++ {
		next := c.at(k+i*direction, metric)
		if !((next-v)*slope*float64(direction) > 0) || direction > 0 && i > reach {
			return v
		}
		v = next
	}
	return v
}

func (c *curve) at(k, metric int) float64 { return c.smooth[(k+keptCurve)%keptCurve*c.metrics+metric] }

// isPeak tells whether the curve is nowhere higher within reach of a tick: of equal ones the first is the peak.
func (c *curve) isPeak(k int) bool {
	at := func(i int) float64 { return c.sum[(i+keptCurve)%keptCurve] }
	for i := 1; i <= reach; i++ {
		if at(k-i) >= at(k) || at(k+i) > at(k) {
			return false
		}
	}
	return at(k) > 0
}
