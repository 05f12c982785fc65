package serve

import (
	"context"
	"errors"
	"io"
	"reflect"
	"sync"
	"time"

	"culprit/grid"
	"culprit/grid/wire"
)

// How often and how much is told.
const (
	statusEvery  = 200 * time.Millisecond
	targetsEvery = time.Second
	weighFor     = 5 * time.Second
	// gatherFor is how long values wait for those of the same pass.
	gatherFor = 2 * time.Millisecond

	// maxResources, maxValues and maxLines are what one batch has at most.
	maxResources = 4096
	maxValues    = 16384
	maxLines     = 1000

	// stallValues is how many values may wait for a reader.
	stallValues = 1 << 20
)

// ErrStalled says that the client did not read.
var ErrStalled = errors.New("the client does not read what is told to it: it was left, and its probes are removed")

// An outbox collects what is to be told and writes it in batches. It is the sink of all pairs. Whoever adds something never waits for the
// reader.
type outbox struct {
	conn  io.Writer
	stall time.Duration // for how long the writing of a batch may take
	end   context.CancelCauseFunc
	wake  chan struct{}
	done  chan struct{} // the last batch was written

	mu      sync.Mutex
	ids     map[grid.PairKey]uint32
	values  []wire.Value
	lines   []string
	answers []wire.Answer
	weights []grid.Focus
	until   time.Time // when weights need not be told any more
	d       Daemon    // nil before the attach
	tree    *grid.TreeLog
	looking bool      // what targets there are is to be told with the next batch
	writing time.Time // since when a batch is being written; zero if none is

	// of the writer
	last      uint64
	statusAt  time.Time
	targetsAt time.Time
	targets   []grid.TargetInfo
	endedTold bool
}

func newOutbox(conn io.Writer, stall time.Duration, end context.CancelCauseFunc) *outbox {
	return &outbox{conn: conn, stall: stall, end: end, wake: make(chan struct{}, 1), done: make(chan struct{}), ids: map[grid.PairKey]uint32{}}
}

// number notes under which numbers values of pairs are told.
func (o *outbox) number(pairs []wire.Pair, keys []grid.PairKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, p := range pairs {
		o.ids[keys[i]] = p.ID
	}
}

// follow has what a daemon does told from now on.
func (o *outbox) follow(d Daemon) {
	o.mu.Lock()
	o.d, o.tree, o.looking = d, d.Tree().Log(), true
	o.mu.Unlock()
	o.notify()
}

// look has the targets told with the next batch.
func (o *outbox) look() {
	o.mu.Lock()
	o.looking = true
	o.mu.Unlock()
}

func (o *outbox) weigh(foci []grid.Focus) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.weights, o.until = foci, time.Now().Add(weighFor)
}

func (o *outbox) answer(a wire.Answer) {
	o.mu.Lock()
	o.answers = append(o.answers, a)
	o.mu.Unlock()
	o.notify()
}

// log tells a line. Of too many only the first are told.
func (o *outbox) log(line string) {
	o.mu.Lock()
	if len(o.lines) < maxLines {
		o.lines = append(o.lines, line)
	}
	o.mu.Unlock()
	o.notify()
}

// Sample implements grid.Sink.
func (o *outbox) Sample(key grid.PairKey, start, end, value float64) {
	o.add(key, wire.Value{Start: start, End: end, Value: value})
}

// Hold implements grid.HeldSink.
func (o *outbox) Hold(key grid.PairKey, start, end float64, v grid.Held) {
	o.add(key, wire.Value{Start: start, End: end, Held: &v})
}

// Distribute implements grid.DistributionSink.
func (o *outbox) Distribute(key grid.PairKey, start, end float64, growth *grid.Distribution) {
	o.add(key, wire.Value{Start: start, End: end, Dist: wire.DistributionOf(growth)})
}

func (o *outbox) add(key grid.PairKey, v wire.Value) {
	o.mu.Lock()
	v.ID = o.ids[key]
	stalled := o.isStalled(time.Now())
	if !stalled {
		o.values = append(o.values, v)
	}
	o.mu.Unlock()
	if stalled {
		o.end(ErrStalled)
		return
	}
	o.notify()
}

// isStalled tells that the reader takes nothing. o.mu is held.
func (o *outbox) isStalled(now time.Time) bool {
	return len(o.values) >= stallValues || !o.writing.IsZero() && now.Sub(o.writing) > o.stall
}

func (o *outbox) notify() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// run writes batches until ctx ends, and then what is left.
func (o *outbox) run(ctx context.Context) {
	defer close(o.done)
	status := time.NewTicker(statusEvery)
	defer status.Stop()
	var ended <-chan struct{}
	for {
		select {
		case <-ctx.Done():
			o.writeAll()
			return
		case <-ended:
			ended = nil
		case <-o.wake:
			if o.onlyValues() {
				time.Sleep(gatherFor)
			}
		case <-status.C:
		}
		o.mu.Lock()
		if o.d != nil && ended == nil && !o.endedTold {
			ended = o.d.Ended()
		}
		o.mu.Unlock()
		if !o.writeAll() {
			return
		}
	}
}

// write writes a frame, and ends the connection if that takes too long.
func (o *outbox) write(frame []byte) error {
	o.setWriting(time.Now())
	defer o.setWriting(time.Time{})
	late := time.AfterFunc(o.stall, func() { o.end(ErrStalled) })
	defer late.Stop()
	_, err := o.conn.Write(frame)
	return err
}

func (o *outbox) onlyValues() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.values) > 0 && len(o.answers) == 0
}

// flush gives the writer a moment to write what is left before the connection is closed.
func (o *outbox) flush() {
	select {
	case <-o.done:
	case <-time.After(time.Second):
	}
}

// writeAll writes batches until there is nothing to be told. False if the connection does not take them.
func (o *outbox) writeAll() bool {
	for {
		b := o.next()
		if b == nil {
			return true
		}
		o.last++
		b.Number = o.last
		frame, err := wire.Encode(b)
		if err == nil {
			err = o.write(frame)
		}
		if err != nil {
			o.end(err)
			return false
		}
	}
}

func (o *outbox) setWriting(at time.Time) {
	o.mu.Lock()
	o.writing = at
	o.mu.Unlock()
}

// next makes a batch of what is to be told; nil if that is nothing. Nothing of the daemon is called with the mutex held.
func (o *outbox) next() *wire.Batch {
	o.mu.Lock()
	d, tree, looking := o.d, o.tree, o.looking
	b := &wire.Batch{}
	n, m := min(len(o.values), maxValues), len(o.answers)
	b.Values, b.Log = o.values[:n:n], o.lines
	o.values, o.lines, o.looking = o.values[n:], nil, false
	if len(o.values) == 0 {
		o.values = nil
	}
	answers := o.answers[:m:m]
	o.answers = nil
	o.mu.Unlock()
	more := n == maxValues
	if d != nil {
		more = o.resources(b, tree) || more
		o.tell(b, d, looking)
	}
	if more { // what answers follow upon is in the next batch
		o.mu.Lock()
		o.answers = append(answers, o.answers...)
		o.mu.Unlock()
	} else {
		b.Answers = answers
	}
	if len(b.Resources)+len(b.Targets)+len(b.Values)+len(b.Log)+len(b.Answers) == 0 && b.Status == nil && !b.Ended {
		return nil
	}
	return b
}

// resources adds changes of the tree, and tells whether there may be more.
func (o *outbox) resources(b *wire.Batch, tree *grid.TreeLog) (more bool) {
	events := tree.Take(maxResources)
	for _, e := range events {
		b.Resources = append(b.Resources, wire.Resource{Change: uint8(e.Change), Hierarchy: uint8(e.Hierarchy), Path: e.Path, Label: e.Label})
	}
	return len(events) == maxResources
}

// tell adds what is told at times: status, targets, and that all have ended.
func (o *outbox) tell(b *wire.Batch, d Daemon, looking bool) {
	now := time.Now()
	ended := !o.endedTold && isClosed(d.Ended())
	if looking || ended || now.Sub(o.targetsAt) >= targetsEvery {
		o.targetsAt = now
		if list := steady(d.Targets()); looking || !reflect.DeepEqual(list, o.targets) {
			o.targets, b.Targets = list, list
		}
	}
	if ended {
		o.endedTold, b.Ended = true, true
	}
	if now.Sub(o.statusAt) >= statusEvery-statusEvery/10 {
		o.statusAt = now
		b.Status = &wire.Status{
			At: d.Now(), Observed: d.ObservedCost(), Spare: d.Spare(), Stood: d.Stood(), Weighed: weighed(d, o.wanted(now)), Costs: o.costs(d.Costs()),
		}
	}
}

// costs are what pairs took, by their numbers.
func (o *outbox) costs(of map[grid.PairKey]float64) (list []wire.Cost) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for k, c := range of {
		if id, ok := o.ids[k]; ok {
			list = append(list, wire.Cost{ID: id, Cost: c})
		}
	}
	return list
}

// wanted are the foci whose weights are told with each status.
func (o *outbox) wanted(now time.Time) []grid.Focus {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now.After(o.until) {
		o.weights = nil
	}
	return o.weights
}

// steady is what of targets does not change with the clock: to what time one that lives is measured, the client knows by its own.
func steady(list []grid.TargetInfo) []grid.TargetInfo {
	for i := range list {
		if !list[i].Ended {
			list[i].To = 0
		}
	}
	return list
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
