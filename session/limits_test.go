package session

import (
	"testing"
	"time"
)

func TestLimits(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		l            Limits
		age, settled time.Duration
		want         End
		over         bool
	}{
		{Limits{}, 1000 * s, 1000 * s, "", false},
		{Limits{For: 3 * s}, 2 * s, 2 * s, EndTime, false},
		{Limits{For: 3 * s, Auto: true}, 3 * s, -1, EndTime, true},
		{Limits{Auto: true}, 9 * s, 9 * s, EndSettled, false},
		{Limits{Auto: true}, 10 * s, 1 * s, EndSettled, false},
		{Limits{Auto: true}, 10 * s, 2 * s, EndSettled, true},
		{Limits{Auto: true}, 59 * s, -1, EndSettled, false},
		{Limits{Auto: true}, 60 * s, -1, EndSettled, true},
	} {
		if end, over := c.l.over(c.age, c.settled); over != c.over || over && end != c.want {
			t.Errorf("%+v at %v settled %v: %v %v", c.l, c.age, c.settled, end, over)
		}
	}
}
