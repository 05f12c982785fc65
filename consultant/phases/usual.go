package phases

import "math"

const (
	forget    = 1 - 1.0/600 // each tick: what was two minutes ago counts a third
	blockSize = 12          // ticks of a block: what is new must last for one
)

// usual is what a metric was like in a phase so far. The zero value knows nothing.
type usual struct {
	n, mean, m2 float64 // ticks, those long ago less; their mean; the sum of the squares around it
	previous    float64 // the tick before
	neighbours  float64 // the sum of the products of neighbours, around the mean
	last        [blockSize]float64
	seen        int
	blocks      float64 // as n, mean and m2 of the averages of blockSize ticks, which overlap
	bMean, bM2  float64
}

// add takes a tick.
func (u *usual) add(v float64) {
	if v != v {
		return
	}
	u.n = u.n*forget + 1
	d := v - u.mean
	u.mean += d / u.n
	u.m2 = u.m2*forget + d*(v-u.mean)
	if u.seen > 0 {
		u.neighbours = u.neighbours*forget + (v-u.mean)*(u.previous-u.mean)
	}
	u.previous = v
	u.last[u.seen%blockSize] = v
	if u.seen++; u.seen >= blockSize {
		u.addBlock()
	}
}

func (u *usual) addBlock() {
	block := 0.0
	for _, v := range u.last {
		block += v / blockSize
	}
	u.blocks = u.blocks*forget + 1
	d := block - u.bMean
	u.bMean += d / u.blocks
	u.bM2 = u.bM2*forget + d*(block-u.bMean)
}

// variance is that of the ticks.
func (u *usual) variance() float64 {
	if u.n < 2 {
		return 0
	}
	return u.m2 / (u.n - 1)
}

// spread is the standard deviation of how far the average of a block may be from the mean if nothing has changed. A short past shows less than there is,
// so the spread is taken to be larger as long as there are few blocks.
func (u *usual) spread() float64 {
	v := u.variance() * ofBlock(u.correlation())
	if u.blocks > 1 {
		v = max(v, u.bM2/u.blocks)
	}
	blocks := u.n / blockSize
	return math.Sqrt(v*(1+1/blocks)) * (1 + fewBlocks/blocks)
}

// fewBlocks is how many blocks the past must have for the spread to be believed half.
const fewBlocks = 4.0

// correlation is that of neighbouring ticks, as large as it may be: a short past shows less of it than there is.
func (u *usual) correlation() float64 {
	if u.m2 <= 0 {
		return 0
	}
	return min(max(u.neighbours/u.m2, 0)+2/math.Sqrt(u.n), 0.97)
}

// ofBlock is the variance of the average of a block as a part of that of its ticks, if each is correlated so with its neighbour (a process of first order).
func ofBlock(r float64) float64 {
	const n = blockSize
	return (1+r)/(1-r)/n - 2*r*(1-math.Pow(r, n))/(n*n*(1-r)*(1-r))
}
