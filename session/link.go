package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"culprit/daemon"
	"culprit/daemon/process"
	"culprit/daemon/serve"
	"culprit/grid"
	"culprit/grid/remote"
	"culprit/grid/replay"
	"culprit/grid/wire"
	"culprit/internal/slowlink"
	"culprit/pcl"
	"culprit/pcl/check"
)

// linkVariable says over what the session and its daemon talk: nothing means that they are in one process and call each other; for the rest
// see slowlink.Parse. With it tests run the whole program as if the daemon were far away.
const linkVariable = "CULPRIT_LINK"

// A link is a connection to a daemon that is served in this process.
type link struct {
	*remote.Daemon
	served chan error // why the serving ended
}

// An endpoint is what is at the other end of a link, and what happens on the way.
type endpoint struct {
	link   slowlink.Options
	attach func(ctx context.Context, a *wire.Attach, log func(string)) (serve.Daemon, error)
	record io.Writer // all messages are written there; nil = nowhere
}

// attachOver has a daemon at the other end of a connection measure.
func attachOver(ctx context.Context, e endpoint, cfg Config) (serve.Daemon, error) {
	ours, theirs := slowlink.New(e.link)
	if e.record != nil {
		ours = replay.Record(ours, e.record)
	}
	l := &link{served: make(chan error, 1)}
	opts := serve.Options{Kinds: serve.Kinds(), Log: cfg.Log, Attach: e.attach}
	go func() { l.served <- serve.Serve(context.WithoutCancel(ctx), theirs, opts) }()
	var err error
	l.Daemon, err = remote.Attach(ctx, ours, remote.Options{Kinds: serve.Kinds(), Log: cfg.Log}, attachCommand(cfg))
	if err != nil {
		return nil, errors.Join(err, <-l.served)
	}
	return l, nil
}

// Detach also waits until the daemon's end is done.
func (l *link) Detach() (clean bool, err error) {
	clean, err = l.Daemon.Detach()
	if e := <-l.served; e != nil && err == nil {
		return false, e
	}
	return clean, err
}

// attachCommand is what a session asks for, as a command.
func attachCommand(cfg Config) wire.Attach {
	a := wire.Attach{PIDs: cfg.PIDs, Budget: cfg.Budget, Children: cfg.Children, Backend: cfg.Backend.String()}
	for _, s := range cfg.Library.Sources() {
		a.Library = append(a.Library, wire.Text{Name: s.Name, Text: s.Text})
	}
	a.Digest = wire.DigestOf(a.Library)
	return a
}

// attachAs does what the command says. Of cfg it takes what belongs to the daemon's side.
func attachAs(ctx context.Context, a *wire.Attach, log func(string), cfg Config) (serve.Daemon, error) {
	backend, err := grid.ParseBackend(a.Backend)
	if err != nil {
		return nil, fmt.Errorf("--backend: %w", err)
	}
	lib, err := libraryOf(a)
	if err != nil {
		return nil, err
	}
	return daemon.Attach(ctx, daemon.Options{Library: lib, Budget: a.Budget, Children: a.Children, Backend: backend, Log: log, Guard: cfg.Guard}, a.PIDs...)
}

// libraryOf makes the library that came with a command. Definitions with mistakes are left out, as they were where it comes from.
func libraryOf(a *wire.Attach) (*pcl.Library, error) {
	if string(wire.DigestOf(a.Library)) != string(a.Digest) {
		return nil, wire.ErrFrame{Why: "the PCL is not what its digest says"}
	}
	var sources []pcl.Source
	for _, t := range a.Library {
		sources = append(sources, pcl.Source{Name: t.Name, Text: t.Text})
	}
	lib, _ := check.LoadSources(sources)
	return lib, nil
}

// attach attaches, and tries again where that is not possible yet, as long as the session has patience.
func attach(ctx context.Context, cfg Config) (serve.Daemon, error) {
	for deadline := time.Now().Add(cfg.Patience); ; pause(ctx, retryEvery) {
		d, err := attachOnce(ctx, cfg)
		if !deferred(err) || ctx.Err() != nil || !time.Now().Before(deadline) {
			return d, err
		}
	}
}

// retryEvery is how often something is tried again that somebody waits for.
const retryEvery = 20 * time.Millisecond

// deferred reports whether what failed may be possible later.
func deferred(err error) bool {
	var later grid.ErrDeferred
	var stop *process.Deferred
	return errors.As(err, &later) || errors.As(err, &stop)
}

// attachOnce attaches in this process, or over a link.
func attachOnce(ctx context.Context, cfg Config) (serve.Daemon, error) {
	if text := os.Getenv(linkVariable); text != "" {
		o, err := slowlink.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", linkVariable, err)
		}
		here := func(ctx context.Context, a *wire.Attach, log func(string)) (serve.Daemon, error) {
			return attachAs(ctx, a, log, cfg)
		}
		return attachOver(ctx, endpoint{link: o, attach: here}, cfg)
	}
	return daemon.Attach(ctx, daemon.Options{Library: cfg.Library, Budget: cfg.Budget, Children: cfg.Children, Backend: cfg.Backend, Log: cfg.Log, Guard: cfg.Guard}, cfg.PIDs...)
}
