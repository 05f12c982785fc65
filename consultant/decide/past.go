package decide

import (
	"math"
	"slices"
)

const (
	mostPast  = 10  // means that are kept: those of a minute
	otherwise = 4.0 // standard errors by which a mean differs from others if the program did something else
)

// A past is what was read before a window: the means over times as long as a window, the oldest first. How much they differ tells how much the mean
// of a window errs, which its own readings cannot show where the program does one thing for seconds and then another.
type past struct {
	means []Bin
	next  Bin // what is read of the next one: Values are sums
	span  float64
}

// add takes the reading that comes next.
func (p *past) add(b Bin) {
	if p.next.Values == nil {
		p.next = Bin{Start: b.Start, Values: make([]float64, len(b.Values))}
	}
	for i, v := range b.Values {
		p.next.Values[i] += v * b.width()
	}
	p.next.End, p.span = b.End, p.span+b.width()
	if p.span < sufficientTime-1e-9 {
		return
	}
	for i := range p.next.Values {
		p.next.Values[i] /= p.span
	}
	if len(p.means) == mostPast {
		p.means = append(p.means[:0], p.means[1:]...)
	}
	p.means = append(p.means, p.next)
	p.next, p.span = Bin{}, 0
}

// together is the margin over a window and what came right before it, and how sure that is, as far as the program did the same: back to the first mean that
// lies further from the others than they err. Of the window alone the margin and what is known of it are given.
func (p *past) together(t *Test, margin float64, of longRun) (all float64, known longRun) {
	sum, squares, n := margin, margin*margin, 1.0
	for i := len(p.means) - 1; i >= 0; i-- {
		m := t.Margin(t.Judge(p.means[i].Values, 1))
		if math.Abs(m-sum/n) > otherwise*of.err*math.Sqrt(1+1/n) {
			break
		}
		sum, squares, n = sum+m, squares+m*m, n+1
	}
	variance := (of.freedom*of.err*of.err + squares - sum*sum/n) / (of.freedom + n - 1)
	return sum / n, longRun{err: math.Sqrt(variance / n), freedom: of.freedom + n - 1}
}

func (p *past) clone() past {
	return past{means: slices.Clone(p.means), next: Bin{Start: p.next.Start, End: p.next.End, Values: slices.Clone(p.next.Values)}, span: p.span}
}
