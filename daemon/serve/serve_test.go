package serve_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"culprit/daemon"
	"culprit/daemon/serve"
	"culprit/grid"
	"culprit/grid/remote"
	"culprit/grid/wire"
	"culprit/internal/slowlink"
	"culprit/internal/testprog"
	"culprit/pcl"
	"culprit/pcl/check"
)

// start starts a program that waits for "go".
func start(t *testing.T) *testprog.Prog {
	t.Helper()
	return testprog.StartTarget(t, testprog.Build(t, "testdata/targets/calls.c"), "200000", "2")
}

func library(t *testing.T) *pcl.Library {
	t.Helper()
	lib, _, err := check.Load(check.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

func options(t *testing.T) serve.Options {
	lib := library(t)
	return serve.Options{Kinds: serve.Kinds(), Log: func(s string) { t.Log(s) }, Attach: func(ctx context.Context, a *wire.Attach, log func(string)) (serve.Daemon, error) {
		return daemon.Attach(ctx, daemon.Options{Library: lib, Budget: a.Budget, Log: log}, a.PIDs...)
	}}
}

// served serves the other end of a connection until the test ends; ended gives why it ended.
func served(t *testing.T, o serve.Options, l slowlink.Options) (conn io.ReadWriteCloser, ended <-chan error) {
	t.Helper()
	ours, theirs := slowlink.New(l)
	why := make(chan error, 1)
	var over sync.WaitGroup
	over.Go(func() { why <- serve.Serve(context.Background(), theirs, o) })
	t.Cleanup(func() {
		ours.Close()
		over.Wait()
	})
	return ours, why
}

// sums adds up what comes.
type sums struct {
	mu sync.Mutex
	of map[grid.PairKey]float64
}

func (s *sums) Sample(key grid.PairKey, start, end, value float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of[key] += value
}

func key(t *testing.T, metric, focus string) grid.PairKey {
	t.Helper()
	f, err := grid.ParseFocus(focus)
	if err != nil {
		t.Fatal(err)
	}
	return grid.PairKey{Metric: metric, Focus: f}
}

// TestCountsOverAConnection holds that counts are exact over a connection that delays messages and exchanges them, and that the rest of what a
// daemon tells comes through.
func TestCountsOverAConnection(t *testing.T) {
	p := start(t)
	conn, ended := served(t, options(t), slowlink.Options{Delay: 20 * time.Millisecond, Shuffle: true})
	d, err := remote.Attach(context.Background(), conn, remote.Options{Kinds: serve.Kinds()}, wire.Attach{PIDs: []int{p.PID}})
	if err != nil {
		t.Fatal(err)
	}
	work, bad := key(t, "procedure_calls", "/Code/calls.c/work"), key(t, "procedure_calls", "/Code/calls.c/none")
	got := &sums{of: map[grid.PairKey]float64{}}
	results := d.Enable([]grid.PairKey{work, bad}, got)
	if results[0].Err != nil || results[0].Tier != grid.TierProbe || !pcl.NothingThere(results[1].Err) {
		t.Fatalf("%+v", results)
	}
	prices, errs := d.Price([]grid.PairKey{work})
	if errs[0] != nil || prices[0].Points == 0 {
		t.Errorf("price %+v, %v", prices, errs)
	}
	p.Say(t, "go")
	p.Expect(t, "DONE", 20*time.Second)
	d.Disable([]grid.PairKey{work})
	if want := float64(p.Counts()["work"]); got.of[work] != want {
		t.Errorf("%v calls of %v", got.of[work], want)
	}
	if steps := d.Refinements(grid.Whole(), grid.Code); len(steps) == 0 || !strings.HasPrefix(steps[0].String(), "/Code/calls") {
		t.Errorf("refined to %v", steps)
	}
	d.ListCode()
	for end := time.Now().Add(10 * time.Second); !d.Tree().Live(grid.Code, "calls.c", "work") && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if !d.Tree().Live(grid.Code, "calls.c", "work") || len(d.Targets()) != 1 || d.Targets()[0].PID != p.PID || d.Now() <= 0 {
		t.Errorf("targets %+v at %v s, functions %v", d.Targets(), d.Now(), d.Tree().Children(grid.Code, "calls.c"))
	}
	clean, err := d.Detach()
	if !clean || err != nil || d.Probes().Inserted == 0 || d.Probes().Left != 0 {
		t.Errorf("left clean: %v, %v, %+v", clean, err, d.Probes())
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if results := d.Enable([]grid.PairKey{work}, got); !errors.As(results[0].Err, &remote.ErrLost{}) {
		t.Errorf("after the end: %+v", results)
	}
	untouched(t, p)
}

// untouched holds that nothing is left in a program, and that nothing has disturbed it.
func untouched(t *testing.T, p *testprog.Prog) {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.PID))
	if err != nil || strings.Contains(string(maps), "/memfd:") {
		t.Errorf("%v\n%s", err, maps)
	}
	p.Stop(t)
}

// A raw client writes what it likes.
type raw struct {
	t    *testing.T
	conn io.ReadWriteCloser
	r    *wire.Reader
	last uint64
}

func newRaw(t *testing.T, conn io.ReadWriteCloser) *raw {
	return &raw{t: t, conn: conn, r: wire.NewReader(conn)}
}

// send sends a command as it is.
func (c *raw) send(cmd wire.Command) {
	c.t.Helper()
	frame, err := wire.Encode(&cmd)
	if err == nil {
		_, err = c.conn.Write(frame)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// ask sends a command with the next number and waits for its answer.
func (c *raw) ask(cmd wire.Command) wire.Answer {
	c.t.Helper()
	c.last++
	cmd.Number = c.last
	c.send(cmd)
	return c.await(cmd.Number)
}

func (c *raw) await(number uint64) wire.Answer {
	c.t.Helper()
	for {
		var b wire.Batch
		if err := c.r.Read(&b); err != nil {
			c.t.Fatalf("no answer to %d: %v", number, err)
		}
		for _, a := range b.Answers {
			if a.Command == number {
				return a
			}
		}
	}
}

// attach begins to measure with a probe in the program.
func (c *raw) attach(pid int) {
	c.t.Helper()
	work := key(c.t, "procedure_calls", "/Code/calls.c/work")
	for _, cmd := range []wire.Command{{Hello: &wire.Hello{Version: wire.Version}}, {Attach: &wire.Attach{PIDs: []int{pid}}},
		{Enable: &wire.Pairs{Keys: []wire.Pair{wire.PairOf(1, work)}}}} {
		if a := c.ask(cmd); a.Err != nil || len(a.Results) > 0 && a.Results[0].Err != nil {
			c.t.Fatalf("%+v: %+v", cmd, a)
		}
	}
}

// TestCommandsThatCannotBeObeyed sends them in turn over one connection, which goes on.
func TestCommandsThatCannotBeObeyed(t *testing.T) {
	p := start(t)
	conn, ended := served(t, options(t), slowlink.Options{})
	c := newRaw(t, conn)
	hello, nothing := &wire.Hello{Version: wire.Version}, &wire.Nothing{}
	attach := &wire.Attach{PIDs: []int{p.PID}}
	for _, step := range []struct {
		cmd  wire.Command
		want string // of the error; "" for none
	}{
		{wire.Command{Attach: attach}, "Hello must come first"},
		{wire.Command{Hello: &wire.Hello{Version: 99}}, "different versions"},
		{wire.Command{Hello: hello}, ""},
		{wire.Command{Hello: hello}, "a second Hello"},
		{wire.Command{}, "0 of the commands"},
		{wire.Command{Hello: hello, Attach: attach}, "2 of the commands"},
		{wire.Command{Disable: &wire.Pairs{}}, "no process is attached"},
		{wire.Command{Attach: &wire.Attach{PIDs: []int{1 << 22}}}, "no such process"},
		{wire.Command{Attach: attach}, ""},
		{wire.Command{Attach: attach}, "attached already"},
		{wire.Command{Enable: &wire.Pairs{Keys: []wire.Pair{{ID: 1, Metric: "procedure_calls", Focus: wire.Focus{{Hierarchy: 77}}}}}}, "not a message: a focus"},
		{wire.Command{Enable: &wire.Pairs{Keys: []wire.Pair{{ID: 1, Metric: "none"}}}}, ""}, // the error is that of the pair
		{wire.Command{Refine: &wire.Refine{Questions: make([]wire.Question, 5000)}}, "too many questions"},
		{wire.Command{Weigh: &wire.Weigh{Foci: make([]wire.Focus, 5000)}}, "too many foci"},
		{wire.Command{Detach: nothing}, ""},
		{wire.Command{Detach: nothing}, "were left"},
		{wire.Command{Enable: &wire.Pairs{}}, "were left"},
		{wire.Command{Account: nothing}, ""},
	} {
		a := c.ask(step.cmd)
		if a.Err == nil != (step.want == "") || a.Err != nil && !strings.Contains(a.Err.Text, step.want) {
			t.Errorf("%+v: %+v, expected %q", step.cmd, a.Err, step.want)
		}
		if step.cmd.Enable != nil && a.Err == nil && (len(a.Results) != 1 || a.Results[0].Err == nil) {
			t.Errorf("a metric that there is not: %+v", a)
		}
	}
	conn.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	untouched(t, p)
}

// TestConnectionsThatBreak ends a connection in every bad way while a probe is in the program, and holds that it is removed.
func TestConnectionsThatBreak(t *testing.T) {
	ping := wire.Command{Ping: &wire.Nothing{}}
	for _, c := range []struct {
		name string
		do   func(c *raw)
		want string // of the error of Serve; "" for none
	}{
		{"closed", func(c *raw) { c.conn.Close() }, ""},
		{"cut inside a message", func(c *raw) {
			frame, _ := wire.Encode(&ping)
			_, _ = c.conn.Write(frame[:len(frame)-1])
			c.conn.Close()
		}, "unexpected EOF"},
		{"too long", func(c *raw) { _, _ = c.conn.Write(binary.BigEndian.AppendUint32(nil, wire.MaxFrame+1)) }, "not a message"},
		{"not understood", func(c *raw) { _, _ = c.conn.Write([]byte("\x00\x00\x00\x04what")) }, "not a message"},
		{"a number again", func(c *raw) {
			c.send(wire.Command{Number: c.last, Ping: ping.Ping})
			if a := c.await(c.last); a.Err == nil || !strings.Contains(a.Err.Text, "came before") {
				t.Errorf("answered %+v", a)
			}
			c.conn.Close()
		}, ""},
		{"numbers exchanged", func(c *raw) {
			c.send(wire.Command{Number: c.last + 2, Ping: ping.Ping})
			c.send(wire.Command{Number: c.last + 1, Account: ping.Ping})
			if a := c.await(c.last + 1); a.Account == nil || a.Err != nil {
				t.Errorf("answered %+v", a)
			}
			c.conn.Close()
		}, ""},
		{"a number is missing", func(c *raw) {
			go io.Copy(io.Discard, c.conn)
			for n := range uint64(300) {
				frame, _ := wire.Encode(&wire.Command{Number: c.last + 2 + n, Ping: ping.Ping})
				if _, err := c.conn.Write(frame); err != nil {
					return
				}
			}
		}, "did not come"},
		{"a client that does not read", func(c *raw) {}, serve.ErrStalled.Error()},
		{"a client that is silent", func(c *raw) { go io.Copy(io.Discard, c.conn) }, "no command came"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := start(t)
			o := options(t)
			o.Stall, o.Silent = time.Second, 3*time.Second
			conn, ended := served(t, o, slowlink.Options{})
			client := newRaw(t, conn)
			client.attach(p.PID)
			c.do(client)
			select {
			case err := <-ended:
				if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("ended by %v, expected %q", err, c.want)
				}
			case <-time.After(20 * time.Second):
				t.Fatal("it goes on")
			}
			untouched(t, p)
		})
	}
}

// TestAttachIsCancelled holds that a client that gives up an attach learns that nothing was left.
func TestAttachIsCancelled(t *testing.T) {
	began := make(chan struct{})
	o := serve.Options{Kinds: serve.Kinds(), Attach: func(ctx context.Context, _ *wire.Attach, _ func(string)) (serve.Daemon, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	conn, ended := served(t, o, slowlink.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-began
		cancel()
	}()
	if d, err := remote.Attach(ctx, conn, remote.Options{Kinds: serve.Kinds()}, wire.Attach{}); d != nil || err == nil || err.Error() != context.Canceled.Error() {
		t.Errorf("%v, %v", d, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
