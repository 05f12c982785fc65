package decide

import "math"

// studentTail is the probability that a t-distributed variable with df degrees of freedom exceeds t: 0..1.
// It is I_x(df/2, 1/2)/2 with x = df/(df+t²) (Abramowitz & Stegun 26.7.1 with 26.5.27); df below 1 counts as 1.
func studentTail(t, df float64) float64 {
	if math.IsNaN(t) {
		return 0.5
	}
	if df < 1 {
		df = 1
	}
	tail := 0.0
	if !math.IsInf(t, 0) {
		tail = 0.5 * incompleteBeta(df/2, 0.5, df/(df+t*t))
	}
	if t < 0 {
		return 1 - tail
	}
	return tail
}

// incompleteBeta is the regularised incomplete beta function I_x(a, b) for 0 <= x <= 1.
func incompleteBeta(a, b, x float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2): // the continued fraction converges fast only on the other side
		return 1 - incompleteBeta(b, a, 1-x)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	front := math.Exp(lab - la - lb + a*math.Log(x) + b*math.Log1p(-x))
	return front * betaFraction(a, b, x) / a
}

// betaFraction evaluates the continued fraction of the incomplete beta function (Abramowitz & Stegun 26.5.8) by
// Lentz's method.
func betaFraction(a, b, x float64) float64 {
	const tiny, enough, rounds = 1e-300, 1e-14, 300
	guard := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/guard(1-(a+b)*x/(a+1))
	f := d
	for m := 1.0; m <= rounds; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d = 1 / guard(1+even*d)
		c = guard(1 + even/c)
		f *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d = 1 / guard(1+odd*d)
		c = guard(1 + odd/c)
		f *= d * c
		if math.Abs(d*c-1) < enough {
			break
		}
	}
	return f
}
