package pcl

// A Formula is a checked expression over metrics, tunable constants and numbers. It asks for the value of a metric by its name;
// x/0 is 0.
type Formula func(get func(metric string) float64) float64

// A Comparison is a test of two formulas.
type Comparison struct {
	Left, Right Formula // nil where there is none
	Greater     bool    // it holds if the left side is greater than the right one; else if it is less
	OrEqual     bool    // or if they are equal
	Unit        string  // of both sides; "" if they have none, or none that is known
	Share       bool    // the left side is a part of a time in the whole of it: beyond 1 only as far as the measurement errs
}

// Value is the left side; get returns the average of a metric over the samples that are judged. It is 0 if there is no test.
func (c *Comparison) Value(get func(metric string) float64) float64 {
	if c.Left == nil {
		return 0
	}
	return c.Left(get)
}

// Threshold is the right side; 0 if there is no test.
func (c *Comparison) Threshold(get func(metric string) float64) float64 {
	if c.Right == nil {
		return 0
	}
	return c.Right(get)
}

// Relation is how the value is compared with the threshold: "<", "<=", ">" or ">=".
func (c *Comparison) Relation() string {
	out := "<"
	if c.Greater {
		out = ">"
	}
	if c.OrEqual {
		out += "="
	}
	return out
}

// Holds is the answer of the test. Missing values (NaN) make it false.
func (c *Comparison) Holds(get func(metric string) float64) bool {
	v, t := c.Value(get), c.Threshold(get)
	switch c.Relation() {
	case ">":
		return v > t
	case ">=":
		return v >= t
	case "<=":
		return v <= t
	}
	return v < t
}
