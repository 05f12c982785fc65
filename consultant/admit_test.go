package consultant

import (
	"errors"
	"math"
	"slices"
	"testing"

	"culprit/consultant/budget"
	"culprit/grid"
)

// TestChoose is the table of what becomes of requests. All of them ask for one pair, and the limit is 10.
func TestChoose(t *testing.T) {
	asks := func(cost float64) request {
		return request{n: &node{place: place{pairs: make([]grid.PairKey, 1)}}, known: true, promising: true, cost: budget.Cost{All: cost, New: cost}}
	}
	with := func(r request, change func(r *request)) request {
		change(&r)
		return r
	}
	shared := func(cost, once float64) request {
		return with(asks(cost), func(r *request) { r.cost.Shared, r.shares = once, once > 0 })
	}
	unlikely := func() request { return with(asks(1), func(r *request) { r.promising = false }) }
	first := asks(1)
	many := func(pairs int) request {
		return with(asks(0), func(r *request) { r.n = &node{place: place{pairs: make([]grid.PairKey, pairs)}} })
	}
	const none = action(-1) // no decision
	for name, c := range map[string]struct {
		room     budget.Room
		few      int
		requests []request
		want     []action
		blocked  int
		lacking  float64
	}{
		"nothing asked":             {want: []action{}, lacking: math.Inf(1)},
		"all fit":                   {requests: []request{asks(4), asks(6)}, want: []action{toBegin, toBegin}, lacking: math.Inf(1)},
		"the second does not fit":   {requests: []request{asks(4), asks(8), asks(6)}, want: []action{toBegin, toBlock, toBegin}, blocked: 1, lacking: 2},
		"what lacks least is told":  {room: budget.Room{Load: 5}, requests: []request{asks(9), asks(7)}, want: []action{toBlock, toBlock}, blocked: 2, lacking: 2},
		"what costs nothing fits":   {room: budget.Room{Load: 12}, requests: []request{asks(0), asks(1)}, want: []action{toBegin, toBlock}, blocked: 1, lacking: 3},
		"never fits":                {requests: []request{asks(11)}, want: []action{toExceed}, lacking: math.Inf(1)},
		"shared cost is paid once":  {requests: []request{shared(1, 7), shared(1, 7)}, want: []action{toBegin, toBegin}, lacking: math.Inf(1)},
		"shared cost is too much":   {requests: []request{shared(1, 10)}, want: []action{toExceed}, lacking: math.Inf(1)},
		"shared cost was paid":      {room: budget.Room{Paid: true}, requests: []request{shared(1, 10)}, want: []action{toBegin}, lacking: math.Inf(1)},
		"cost is not known":         {requests: []request{with(asks(11), func(r *request) { r.known = false })}, want: []action{none}, lacking: math.Inf(1)},
		"cannot be measured":        {requests: []request{with(asks(11), func(r *request) { r.err = errors.New("why") })}, want: []action{toFail}, lacking: math.Inf(1)},
		"needless":                  {requests: []request{with(asks(1), func(r *request) { r.needless, r.wider = "why", []*node{nodeIn(Testing)} })}, want: []action{toSkip}, lacking: math.Inf(1)},
		"a wider one is tested":     {requests: []request{with(asks(1), func(r *request) { r.wider = []*node{nodeIn(False), nodeIn(Testing)} })}, want: []action{none}, lacking: math.Inf(1)},
		"a wider one is begun":      {requests: []request{first, with(asks(1), func(r *request) { r.wider = []*node{first.n} })}, want: []action{toBegin, none}, lacking: math.Inf(1)},
		"a wider one was tested":    {requests: []request{with(asks(1), func(r *request) { r.wider = []*node{nodeIn(True), nodeIn(Queued)} })}, want: []action{toBegin}, lacking: math.Inf(1)},
		"no CPU time":               {requests: []request{with(unlikely(), func(r *request) { r.postponed, r.known = true, false })}, want: []action{toPostpone}, lacking: math.Inf(1)},
		"few of little promise":     {few: 1, requests: []request{unlikely(), asks(1), unlikely()}, want: []action{toBegin, toBegin, toPostpone}, lacking: math.Inf(1)},
		"waited, samples can judge": {room: budget.Room{Load: 9}, requests: []request{with(asks(2), func(r *request) { r.waited, r.estimable = 4, true })}, want: []action{toStarve}, lacking: math.Inf(1)},
		"waited, samples cannot":    {room: budget.Room{Load: 9}, requests: []request{with(asks(2), func(r *request) { r.waited = 4 })}, want: []action{toBlock}, blocked: 1, lacking: 1},
		"has not waited long":       {room: budget.Room{Load: 9}, requests: []request{with(asks(2), func(r *request) { r.waited, r.estimable = 3, true })}, want: []action{toBlock}, blocked: 1, lacking: 1},
		"a batch is bounded":        {requests: []request{many(startBatch - 1), many(1), asks(1)}, want: []action{toBegin, toBegin}, lacking: math.Inf(1)},
		"pairs are bounded":         {room: budget.Room{Pairs: 799}, requests: []request{many(1), many(1)}, want: []action{toBegin, toBlock}, blocked: 1, lacking: -10},
	} {
		c.room.Limit = 10
		if c.few == 0 {
			c.few = math.MaxInt
		}
		before := c.room
		b := choose(slices.Values(c.requests), c.room, c.few)
		var got []action
		for _, r := range c.requests[:min(len(c.requests), len(c.want))] {
			i := slices.IndexFunc(b.decisions, func(d decision) bool { return d.n == r.n })
			if i < 0 {
				got = append(got, none)
				continue
			}
			d := b.decisions[i]
			got = append(got, d.action)
			if waits := d.action == toBlock || d.action == toSkip || d.action == toPostpone; waits != (d.reason != "") {
				t.Errorf("%s: decision %d has the reason %q", name, d.action, d.reason)
			}
			if r.n.state == Testing {
				t.Errorf("%s: a node was changed", name)
			}
		}
		if !slices.Equal(got, c.want) || len(b.decisions) > len(c.want) || b.blocked != c.blocked || b.lacking != c.lacking {
			t.Errorf("%s: %v, %d wait, %g is lacking; want %v, %d, %g", name, got, b.blocked, b.lacking, c.want, c.blocked, c.lacking)
		}
		if c.room != before {
			t.Errorf("%s: the room was changed", name)
		}
	}
}
