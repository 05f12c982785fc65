package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"culprit/grid"
	"culprit/grid/wire"
)

// A Daemon is what is served.
type Daemon interface {
	grid.Instrumenter
	grid.Axis
	Tree() *grid.Tree
	ListCode()
	ListLoops(module, function string) (names []string, err error)
	Now() float64
	Source(f grid.Focus) (file string, line int)
	Targets() []grid.TargetInfo
	Ended() <-chan struct{}
	Uncertainty(key grid.PairKey) (float64, bool)
	Notes(key grid.PairKey) string
	Placed(key grid.PairKey) (places int, ok bool)
	Unseen(metric string) string
	Unsure(key grid.PairKey) string
	UnmeasuredChildren() (used time.Duration, share float64)
	Overhead() grid.Overhead
	Probes() grid.Probes
	SeenMost(functions []string, pids ...int) string
	Holders(f grid.Focus) []grid.Holder
	Idle() grid.Idle
	Spare() float64
	Stood() float64
	Detach() (clean bool, err error)
}

// Bounds of a connection.
const (
	// Silence is after what time without a command, not even a Ping, a client is given up.
	Silence = 30 * time.Second
	// StallTime is after what time in which it has not taken a batch a client is given up.
	StallTime = 10 * time.Second
	// atOnce is how many commands may be under way.
	atOnce = 64
)

// Options are what a server needs.
type Options struct {
	// Attach begins to measure. When ctx ends it gives up and leaves nothing in any target. log may be called from any goroutine.
	Attach func(ctx context.Context, a *wire.Attach, log func(string)) (Daemon, error)
	Kinds  *wire.Kinds   // of errors; the client's must be the same
	Log    func(string)  // who came and why they went; nil = dropped
	Silent time.Duration // Silence if 0
	Stall  time.Duration // StallTime if 0
}

// A server is one connection.
type server struct {
	o    Options
	conn io.ReadWriteCloser
	out  *outbox
	ctx  context.Context
	wg   sync.WaitGroup // commands under way

	mu        sync.Mutex
	greeted   bool
	attaching bool
	daemon    Daemon // nil before Attach has succeeded
	left      bool   // Detach was asked for
	keys      map[uint32]grid.PairKey
	cancels   map[uint64]context.CancelFunc
}

// Serve obeys one client until the connection or ctx ends, then removes all probes. The error says why it ended, nil if the client closed
// the connection; or that not all probes could be removed.
func Serve(ctx context.Context, conn io.ReadWriteCloser, o Options) error {
	if o.Log == nil {
		o.Log = func(string) {}
	}
	if o.Silent == 0 {
		o.Silent = Silence
	}
	if o.Stall == 0 {
		o.Stall = StallTime
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &server{o: o, conn: conn, ctx: ctx, keys: map[uint32]grid.PairKey{}, cancels: map[uint64]context.CancelFunc{}}
	s.out = newOutbox(conn, o.Stall, cancel)
	var writing sync.WaitGroup
	writing.Go(func() { s.out.run(ctx) })
	go func() {
		<-ctx.Done()
		s.out.flush()
		conn.Close() // ends the reading, and a write that waits
	}()
	err := s.read(cancel)
	cancel(err)
	s.wg.Wait()
	writing.Wait()
	return errors.Join(reason(context.Cause(ctx)), s.leave())
}

// reason is why a connection ended, nil if one of its ends has closed it.
func reason(err error) error {
	for _, closed := range []error{context.Canceled, io.EOF, io.ErrClosedPipe, net.ErrClosed} {
		if errors.Is(err, closed) {
			return nil
		}
	}
	return err
}

// leave removes the probes if that is not done.
func (s *server) leave() error {
	s.mu.Lock()
	d, left := s.daemon, s.left
	s.left = true
	s.mu.Unlock()
	if d == nil || left {
		return nil
	}
	s.o.Log("the client is gone: its probes are removed")
	_, err := d.Detach()
	return err
}

// read takes commands until the connection ends.
func (s *server) read(cancel context.CancelCauseFunc) error {
	silent := time.AfterFunc(s.o.Silent, func() { cancel(fmt.Errorf("no command came for %v", s.o.Silent)) })
	defer silent.Stop()
	r := wire.NewReader(s.conn)
	var order wire.Order[*wire.Command]
	for {
		c := &wire.Command{}
		if err := r.Read(c); err != nil {
			return err
		}
		silent.Reset(s.o.Silent)
		turn, err := order.Put(c.Number, c, time.Now())
		for _, c := range turn {
			s.begin(c)
		}
		var wrong wire.ErrOrder
		switch {
		case errors.As(err, &wrong) && wrong.Missing:
			return err
		case err != nil:
			s.answer(wire.Answer{Command: c.Number, Err: s.o.Kinds.Encode(err)})
		}
	}
}

// begin obeys a command beside the others.
func (s *server) begin(c *wire.Command) {
	if c.Cancel != nil {
		s.cancelCommand(c.Cancel.Command)
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	if err := s.enter(c, cancel); err != nil {
		cancel()
		s.answer(wire.Answer{Command: c.Number, Err: s.o.Kinds.Encode(err)})
		return
	}
	s.wg.Go(func() {
		defer cancel()
		a, err := s.obey(ctx, c)
		a.Command, a.Err = c.Number, s.o.Kinds.Encode(err)
		s.mu.Lock()
		delete(s.cancels, c.Number)
		s.mu.Unlock()
		s.answer(a)
	})
}

// answer has an answer sent after all that happened before it.
func (s *server) answer(a wire.Answer) { s.out.answer(a) }

func (s *server) cancelCommand(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if cancel := s.cancels[number]; cancel != nil {
		cancel()
	}
}

// enter reports why a command cannot be obeyed now, or notes that it is under way.
func (s *server) enter(c *wire.Command, cancel context.CancelFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	refuse := func(why string) error { return wire.ErrCommand{Why: why} }
	n := c.Kinds()
	switch {
	case n != 1:
		return refuse(fmt.Sprintf("%d of the commands that are known here are in it, and there must be one", n))
	case c.Hello != nil && s.greeted:
		return refuse("a second Hello")
	case c.Hello != nil && c.Hello.Version != wire.Version:
		return wire.ErrVersion{Ours: wire.Version, Theirs: c.Hello.Version}
	case c.Hello == nil && !s.greeted:
		return refuse("Hello must come first")
	case c.Attach != nil && s.attaching:
		return refuse("processes are attached already")
	case c.Hello == nil && c.Attach == nil && c.Ping == nil && s.daemon == nil:
		return refuse("no process is attached")
	case c.Measures() && s.left:
		return refuse("the processes were left")
	case len(s.cancels) >= atOnce:
		return refuse(fmt.Sprintf("%d others are under way", len(s.cancels)))
	}
	s.greeted = true
	s.attaching = s.attaching || c.Attach != nil
	s.left = s.left || c.Detach != nil
	s.cancels[c.Number] = cancel
	return nil
}
