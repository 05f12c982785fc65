package admission

import (
	"errors"
	"math"
	"slices"
	"testing"

	"culprit/consultant/budget"
)

// TestChoose is the table of what becomes of requests. All of them ask for one pair, and the limit is 10.
func TestChoose(t *testing.T) {
	last := 0
	asks := func(cost float64) Request[int] {
		last++
		return Request[int]{Test: last, Pairs: 1, Known: true, Promising: true, Cost: budget.Cost{All: cost, New: cost}}
	}
	with := func(r Request[int], change func(r *Request[int])) Request[int] {
		change(&r)
		return r
	}
	shared := func(cost, once float64) Request[int] {
		return with(asks(cost), func(r *Request[int]) { r.Cost.Shared, r.Shares = once, once > 0 })
	}
	unlikely := func() Request[int] { return with(asks(1), func(r *Request[int]) { r.Promising = false }) }
	first := asks(1)
	many := func(pairs int) Request[int] { return with(asks(0), func(r *Request[int]) { r.Pairs = pairs }) }
	const none = Action(-1) // no decision
	for name, c := range map[string]struct {
		room     budget.Room
		few      int
		requests []Request[int]
		want     []Action
		blocked  int
		lacking  float64
	}{
		"nothing asked":                        {want: []Action{}, lacking: math.Inf(1)},
		"all fit":                              {requests: []Request[int]{asks(4), asks(6)}, want: []Action{Begin, Begin}, lacking: math.Inf(1)},
		"the second does not fit":              {requests: []Request[int]{asks(4), asks(8), asks(6)}, want: []Action{Begin, Block, Begin}, blocked: 1, lacking: 2},
		"what lacks least is told":             {room: budget.Room{Load: 5}, requests: []Request[int]{asks(9), asks(7)}, want: []Action{Block, Block}, blocked: 2, lacking: 2},
		"what costs nothing fits":              {room: budget.Room{Load: 12}, requests: []Request[int]{asks(0), asks(1)}, want: []Action{Begin, Block}, blocked: 1, lacking: 3},
		"never fits":                           {requests: []Request[int]{asks(11)}, want: []Action{Exceed}, lacking: math.Inf(1)},
		"shared cost is paid once":             {requests: []Request[int]{shared(1, 7), shared(1, 7)}, want: []Action{Begin, Begin}, lacking: math.Inf(1)},
		"shared cost is too much":              {requests: []Request[int]{shared(1, 10)}, want: []Action{Exceed}, lacking: math.Inf(1)},
		"shared cost was paid":                 {room: budget.Room{Paid: true}, requests: []Request[int]{shared(1, 10)}, want: []Action{Begin}, lacking: math.Inf(1)},
		"cost is not known":                    {requests: []Request[int]{with(asks(11), func(r *Request[int]) { r.Known = false })}, want: []Action{none}, lacking: math.Inf(1)},
		"cannot be measured":                   {requests: []Request[int]{with(asks(11), func(r *Request[int]) { r.Err = errors.New("why") })}, want: []Action{Fail}, lacking: math.Inf(1)},
		"needless":                             {requests: []Request[int]{with(asks(1), func(r *Request[int]) { r.Needless, r.Waits = "why", true })}, want: []Action{Skip}, lacking: math.Inf(1)},
		"a wider one is tested":                {requests: []Request[int]{with(asks(1), func(r *Request[int]) { r.Waits = true })}, want: []Action{none}, lacking: math.Inf(1)},
		"a wider one is begun":                 {requests: []Request[int]{first, with(asks(1), func(r *Request[int]) { r.Wider = []int{first.Test} })}, want: []Action{Begin, none}, lacking: math.Inf(1)},
		"a wider one was tested":               {requests: []Request[int]{with(asks(1), func(r *Request[int]) { r.Wider = []int{-1, -2} })}, want: []Action{Begin}, lacking: math.Inf(1)},
		"no CPU time":                          {requests: []Request[int]{with(unlikely(), func(r *Request[int]) { r.Postponed, r.Known = NoTime, false })}, want: []Action{Postpone}, lacking: math.Inf(1)},
		"few of little promise":                {few: 1, requests: []Request[int]{unlikely(), asks(1), unlikely()}, want: []Action{Begin, Begin, Postpone}, lacking: math.Inf(1)},
		"waited, samples can judge":            {room: budget.Room{Load: 9}, requests: []Request[int]{with(asks(2), func(r *Request[int]) { r.Waited, r.Estimable = 4, true })}, want: []Action{Starve}, lacking: math.Inf(1)},
		"waited, samples cannot":               {room: budget.Room{Load: 9}, requests: []Request[int]{with(asks(2), func(r *Request[int]) { r.Waited = 4 })}, want: []Action{Block}, blocked: 1, lacking: 1},
		"has not waited long":                  {room: budget.Room{Load: 9}, requests: []Request[int]{with(asks(2), func(r *Request[int]) { r.Waited, r.Estimable = 3, true })}, want: []Action{Block}, blocked: 1, lacking: 1},
		"room is kept for one that waits long": {room: budget.Room{Load: 5}, requests: []Request[int]{with(asks(8), func(r *Request[int]) { r.Waited = 5 }), asks(1), asks(0)}, want: []Action{Block, Block, Begin}, blocked: 2, lacking: 3},
		"room is kept for one only":            {room: budget.Room{Load: 2}, requests: []Request[int]{with(asks(9), func(r *Request[int]) { r.Waited = 4.9 }), asks(1)}, want: []Action{Block, Begin}, blocked: 1, lacking: 1},
		"a batch is bounded":                   {requests: []Request[int]{many(Most - 1), many(1), asks(1)}, want: []Action{Begin, Begin}, lacking: math.Inf(1)},
		"pairs are bounded":                    {room: budget.Room{Pairs: 799}, requests: []Request[int]{many(1), many(1)}, want: []Action{Begin, Block}, blocked: 1, lacking: -10},
	} {
		c.room.Limit = 10
		if c.few == 0 {
			c.few = math.MaxInt
		}
		before := c.room
		b := Choose(slices.Values(c.requests), c.room, c.few)
		var got []Action
		for _, r := range c.requests[:min(len(c.requests), len(c.want))] {
			i := slices.IndexFunc(b.Decisions, func(d Decision[int]) bool { return d.Test == r.Test })
			if i < 0 {
				got = append(got, none)
				continue
			}
			d := b.Decisions[i]
			got = append(got, d.Action)
			if waits := d.Action == Block || d.Action == Skip || d.Action == Postpone; waits != (d.Reason != "") {
				t.Errorf("%s: decision %d has the reason %q", name, d.Action, d.Reason)
			}
		}
		if !slices.Equal(got, c.want) || len(b.Decisions) > len(c.want) || b.Blocked != c.blocked || b.Lacking != c.lacking {
			t.Errorf("%s: %v, %d wait, %g is lacking; want %v, %d, %g", name, got, b.Blocked, b.Lacking, c.want, c.blocked, c.lacking)
		}
		if c.room != before {
			t.Errorf("%s: the room was changed", name)
		}
	}
}
