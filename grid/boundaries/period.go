package boundaries

import "math"

const (
	repeats  = 3    // how often something has come before it is called a period
	resemble = 0.7  // the least correlation of a curve with itself one period later
	repeated = 0.5  // the same two periods later, and of one period with the one before
	apart    = 0.3  // below it a curve does something else: what stays the same for a while resembles itself shortly after
	near     = 0.95 // of the largest correlation: a shorter period that has as much of it is preferred to a multiple of it
)

// A Period is what repeats in a curve, in bins. The zero value is none.
type Period struct {
	Bins     int // its length
	From, To int // from when to when it repeats; the last bin is not in it
}

// PeriodOf finds what repeats in a curve, if one time is at least so many bins long: a program that iterates goes through the same boundaries again and again,
// and each is no new behaviour. What has not come three times is no period.
func PeriodOf(c Curve, least int) Period {
	from, to := 0, len(c)
	for from < to && !known(c[from]) {
		from++
	}
	for to > from && !known(c[to-1]) {
		to--
	}
	part := c[from:to]
	most := len(part) / repeats
	r := make([]float64, most+2) // by how many bins later
	left, best := false, 0.0
	for lag := 1; lag < len(r); lag++ {
		r[lag] = part.correlation(0, len(part)-lag, lag)
		if left = left || r[lag] < apart; left && lag <= most {
			best = max(best, r[lag])
		}
	}
	if best < resemble {
		return Period{}
	}
	left = false
	for lag := 1; lag <= most; lag++ {
		left = left || r[lag] < apart
		if !left || r[lag] < near*best || r[lag] < r[lag-1] || r[lag] < r[lag+1] || part.correlation(0, len(part)-2*lag, 2*lag) < repeated {
			continue
		}
		if lag < least { // a multiple of it is none
			return Period{}
		}
		return Period{Bins: lag, From: from, To: from + part.end(lag)}
	}
	return Period{}
}

// end is where a period ends to repeat: before it the curve does what it did one period earlier.
func (c Curve) end(period int) int {
	for to := len(c); to > repeats*period; to-- {
		if c.correlation(to-2*period, to-period, period) >= repeated {
			return to
		}
	}
	return repeats * period
}

// correlation is that of a span of the curve with what comes so many bins later; 0 if less than half of it is known, and where nothing changes.
func (c Curve) correlation(from, to, lag int) float64 {
	var n, x, y, xx, yy, xy float64
	for i := from; i < to; i++ {
		if a, b := c[i], c[i+lag]; known(a) && known(b) {
			n, x, y = n+1, x+a, y+b
			xx, yy, xy = xx+a*a, yy+b*b, xy+a*b
		}
	}
	vx, vy := xx-x*x/n, yy-y*y/n
	if 2*n < float64(to-from) || !(vx > 1e-9*n && vy > 1e-9*n) {
		return 0
	}
	return (xy - x*y/n) / math.Sqrt(vx*vy)
}
