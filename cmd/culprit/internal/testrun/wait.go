package testrun

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"culprit/pcl/pcltest"
)

// pause lets time pass, or the test be interrupted.
func (r *run) pause(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-r.ctx.Done():
	case <-t.C:
	}
}

// retryEvery is how often something is tried that is waited for.
const retryEvery = 20 * time.Millisecond

// await waits for what a statement names.
func (r *run) await(s pcltest.Await) error {
	switch s.Kind {
	case pcltest.AwaitLine:
		return r.awaitLine(s)
	case pcltest.AwaitEnd:
		return r.awaitEnd(s)
	}
	deadline := time.Now().Add(s.Within)
	for {
		err := r.try(s)
		if err == nil || r.ctx.Err() != nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not there after %v: %w", s.Within, err)
		}
		r.pause(retryEvery)
	}
}

// try looks once.
func (r *run) try(s pcltest.Await) error {
	if s.Kind == pcltest.AwaitRun {
		return r.runCommand(s.Args)
	}
	args, err := r.words(s.Args)
	if err != nil {
		return err
	}
	switch s.Kind {
	case pcltest.AwaitFile:
		_, err := os.Stat(r.path(args[0]))
		return err
	case pcltest.AwaitSocket:
		return connect("unix", r.path(args[0]))
	}
	if _, err := strconv.ParseUint(args[0], 10, 16); err != nil {
		return fmt.Errorf("%q is no port", args[0])
	}
	return connect("tcp", net.JoinHostPort("127.0.0.1", args[0]))
}

func connect(network, to string) error {
	c, err := net.DialTimeout(network, to, time.Second)
	if err == nil {
		c.Close()
	}
	return err
}

// awaitLine waits for a line of a program behind those that were awaited before.
func (r *run) awaitLine(s pcltest.Await) error {
	p, err := r.program(s.Who)
	if err != nil {
		return err
	}
	deadline := time.After(s.Within)
	for {
		news, over := r.out.next(), p.Over()
		after, ok := r.out.find(p, s.Line, p.seen)
		p.seen = after
		switch {
		case ok || r.ctx.Err() != nil:
			return nil
		case over:
			return fmt.Errorf("%s%s and has printed no line like %q", p.name, p.ended(), s.Line)
		}
		select {
		case <-news:
		case <-p.Done():
		case <-r.ctx.Done():
		case <-deadline:
			return fmt.Errorf("%s has printed no line like %q within %v", p.name, s.Line, s.Within)
		}
	}
}

// awaitEnd waits for the end of a program.
func (r *run) awaitEnd(s pcltest.Await) error {
	p, err := r.program(s.Who)
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-r.ctx.Done():
		return nil
	case <-time.After(s.Within):
		return fmt.Errorf("%s still%s after %v", p.name, p.ended(), s.Within)
	}
	if s.Status >= 0 && p.status() != s.Status {
		return fmt.Errorf("%s%s, expected %d", p.name, p.ended(), s.Status)
	}
	return nil
}

// take gives a variable a piece of the output.
func (r *run) take(s pcltest.Take) error {
	text, ok := r.out.last(s.Regexp)
	if !ok {
		return errors.New("no line of output is like " + strconv.Quote(s.Regexp.String()))
	}
	r.vars[s.Name] = text
	return nil
}
