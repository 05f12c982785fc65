package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"culprit/grid"
	"culprit/grid/wire"
)

// pingEvery is how often a client that asks nothing says that it is there.
const pingEvery = 5 * time.Second

// An ErrLost says that the connection to the daemon has ended.
type ErrLost struct{ Cause error }

// Error says why.
func (e ErrLost) Error() string {
	return fmt.Sprintf("the connection to the daemon is lost: %v", e.Cause)
}

// Unwrap is the cause.
func (e ErrLost) Unwrap() error { return e.Cause }

// Options are what a client needs.
type Options struct {
	Kinds *wire.Kinds  // of errors; the server's must be the same
	Log   func(string) // lines of the daemon; nil = dropped; called from any goroutine
}

// A Daemon is one at the other end of a connection. Detach ends the connection; without it the daemon removes its probes when the
// connection ends.
type Daemon struct {
	o    Options
	conn io.ReadWriteCloser
	tree *grid.Tree

	send   sync.Mutex // one command at a time is written
	number uint64     // of the last command

	mu      sync.Mutex
	waiting map[uint64]chan wire.Answer
	ids     map[grid.PairKey]uint32
	keys    []grid.PairKey
	sinks   map[uint32]grid.Sink
	order   wire.Order[*wire.Batch]
	lost    error
	gone    chan struct{} // closed when the connection has ended
	ended   chan struct{}
	endOnce sync.Once

	picture picture
	axis    axis
	said    said
	trips   atomic.Int64
}

// Attach has the daemon at the other end of a connection measure processes. The error is the daemon's, wire.ErrVersion, or ErrLost. When ctx
// ends before, nothing is left in any process; after that ctx means nothing. On an error the connection is closed.
func Attach(ctx context.Context, conn io.ReadWriteCloser, o Options, a wire.Attach) (*Daemon, error) {
	if o.Log == nil {
		o.Log = func(string) {}
	}
	d := &Daemon{o: o, conn: conn, tree: grid.NewTree(), waiting: map[uint64]chan wire.Answer{}, ids: map[grid.PairKey]uint32{}, keys: make([]grid.PairKey, 1),
		sinks: map[uint32]grid.Sink{}, gone: make(chan struct{}), ended: make(chan struct{})}
	d.axis.init()
	d.said.init()
	go d.read()
	go d.keepAlive()
	_, err := d.call(ctx, wire.Command{Hello: &wire.Hello{Version: wire.Version}})
	var answer wire.Answer
	if err == nil {
		answer, err = d.call(ctx, wire.Command{Attach: &a})
	}
	if err != nil {
		d.lose(errLeft) // err says it all
		return nil, err
	}
	d.picture.see(answer.Now, time.Now())
	return d, nil
}

// RoundTrips is how many commands were answered so far.
func (d *Daemon) RoundTrips() int { return int(d.trips.Load()) }

// call gives a command and waits for its answer. If ctx ends first the command is cancelled, and its answer is waited for all the same: it
// says that nothing was left half done.
func (d *Daemon) call(ctx context.Context, c wire.Command) (wire.Answer, error) {
	answer := make(chan wire.Answer, 1)
	number, err := d.write(&c, answer)
	if err != nil {
		return wire.Answer{}, err
	}
	cancelled := ctx.Done()
	for {
		select {
		case a := <-answer:
			d.trips.Add(1)
			return a, d.o.Kinds.Decode(a.Err)
		case <-d.gone:
			return wire.Answer{}, d.lostFor()
		case <-cancelled:
			cancelled = nil
			if _, err := d.write(&wire.Command{Cancel: &wire.Cancel{Command: number}}, nil); err != nil {
				return wire.Answer{}, err
			}
		}
	}
}

// ask is call for what is not cancelled.
func (d *Daemon) ask(c wire.Command) (wire.Answer, error) { return d.call(context.Background(), c) }

func (d *Daemon) write(c *wire.Command, answer chan wire.Answer) (number uint64, err error) {
	d.send.Lock()
	defer d.send.Unlock()
	d.number++
	c.Number = d.number
	frame, err := wire.Encode(c)
	if err != nil {
		d.number-- // it was not sent
		return 0, err
	}
	d.mu.Lock()
	if d.lost != nil {
		err = d.lost
	} else if answer != nil {
		d.waiting[c.Number] = answer
	}
	d.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if _, err := d.conn.Write(frame); err != nil {
		d.lose(err)
		return 0, d.lostFor()
	}
	return c.Number, nil
}

// lose ends the connection. What was measured until then stands.
func (d *Daemon) lose(cause error) {
	d.mu.Lock()
	first := d.lost == nil
	if first {
		d.lost = ErrLost{cause}
		close(d.gone)
	}
	d.mu.Unlock()
	if first {
		d.conn.Close()
	}
}

func (d *Daemon) lostFor() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lost
}

// errLeft is why a connection ends after Detach.
var errLeft = errors.New("the session has ended")

// read takes batches until the connection ends.
func (d *Daemon) read() {
	r := wire.NewReader(d.conn)
	for {
		b := &wire.Batch{}
		if err := r.Read(b); err != nil {
			d.broken(err)
			return
		}
		turn, err := d.put(b)
		for _, b := range turn {
			d.apply(b)
		}
		var wrong wire.ErrOrder
		if errors.As(err, &wrong) && wrong.Missing {
			d.broken(err)
			return
		}
	}
}

// broken ends a connection that was still needed: nothing more will be told.
func (d *Daemon) broken(err error) {
	d.lose(err)
	if errors.Is(d.lostFor(), errLeft) { // whether targets have ended was told before
		return
	}
	d.o.Log(d.lostFor().Error() + "; what was measured until then stands, and the daemon removes its probes")
	d.endOnce.Do(func() { close(d.ended) })
}

func (d *Daemon) put(b *wire.Batch) ([]*wire.Batch, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.order.Put(b.Number, b, time.Now())
}

// keepAlive says now and then that somebody is there, and notices when a batch is missing.
func (d *Daemon) keepAlive() {
	t := time.NewTicker(pingEvery)
	defer t.Stop()
	for {
		select {
		case <-d.gone:
			return
		case <-t.C:
		}
		d.mu.Lock()
		err := d.order.Missing(time.Now())
		d.mu.Unlock()
		if err != nil {
			d.broken(err)
			return
		}
		_, _ = d.write(&wire.Command{Ping: &wire.Nothing{}}, nil) // that it failed is seen by the reader
	}
}

// apply takes what a batch tells, in its order.
func (d *Daemon) apply(b *wire.Batch) {
	for _, r := range b.Resources {
		err := d.tree.Apply(grid.TreeEvent{Change: grid.TreeChange(r.Change), Hierarchy: grid.Hierarchy(r.Hierarchy), Path: r.Path, Label: r.Label})
		if err != nil {
			d.picture.once.Do(func() { d.o.Log("not all resources are known: " + err.Error()) })
		}
	}
	d.picture.take(b, time.Now())
	if b.Status != nil {
		d.axis.weighed(b.Status.Weighed, time.Now())
	}
	for i := range b.Values {
		d.value(&b.Values[i])
	}
	for _, line := range b.Log {
		d.o.Log(line)
	}
	for _, a := range b.Answers {
		d.mu.Lock()
		answer := d.waiting[a.Command]
		delete(d.waiting, a.Command)
		d.mu.Unlock()
		if answer != nil {
			answer <- a
		}
	}
	if b.Ended {
		d.endOnce.Do(func() { close(d.ended) })
	}
}
