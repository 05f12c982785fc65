// Package slowlink is a connection between two ends in one process that treats frames as a network does: it delays them,
// and may deliver them in another order. It is for tests; it knows of frames only that a length of four bytes, big endian,
// stands in front of each.
package slowlink

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"time"
)

// Options say what happens to frames. The zero value delivers each at once.
type Options struct {
	Delay   time.Duration // at most; each frame is delayed by a random part of it
	Shuffle bool          // frames may overtake others that were sent up to Delay earlier
}

// Parse reads options: "pipe", "pipe,delay=50ms", "pipe,delay=50ms,shuffle".
func Parse(text string) (o Options, err error) {
	words := strings.Split(text, ",")
	if words[0] != "pipe" {
		return o, fmt.Errorf("%q: expected pipe, and then delay=DURATION and shuffle", text)
	}
	for _, w := range words[1:] {
		d, isDelay := strings.CutPrefix(w, "delay=")
		switch {
		case isDelay:
			if o.Delay, err = time.ParseDuration(d); err != nil || o.Delay < 0 {
				return o, fmt.Errorf("%q is no delay: expected something like 50ms", d)
			}
		case w == "shuffle":
			o.Shuffle = true
		default:
			return o, fmt.Errorf("%q: expected delay=DURATION or shuffle", w)
		}
	}
	return o, nil
}

// New connects two ends. When one is closed the other one reads what is under way, and then io.EOF.
func New(o Options) (a, b io.ReadWriteCloser) {
	if o.Delay == 0 {
		return net.Pipe()
	}
	aOut, bIn := half(o)
	bOut, aIn := half(o)
	return &end{aIn, aOut}, &end{bIn, bOut}
}

type end struct {
	*io.PipeReader
	out *io.PipeWriter
}

func (e *end) Write(b []byte) (int, error) { return e.out.Write(b) }

// Close ends both directions.
func (e *end) Close() error {
	e.out.Close()
	return e.PipeReader.Close()
}

// half is one direction.
func half(o Options) (*io.PipeWriter, *io.PipeReader) {
	fromSender, toLink := io.Pipe()
	fromLink, toReader := io.Pipe()
	go func() {
		l := &link{out: toReader}
		err := l.forward(fromSender, o)
		l.wg.Wait()
		toReader.CloseWithError(err)
		fromSender.CloseWithError(io.ErrClosedPipe)
	}()
	return toLink, fromLink
}

type link struct {
	mu  sync.Mutex // one frame at a time
	out *io.PipeWriter
	wg  sync.WaitGroup
}

func (l *link) forward(in io.Reader, o Options) error {
	for {
		var length [4]byte
		if _, err := io.ReadFull(in, length[:]); err != nil {
			return err
		}
		frame := make([]byte, 4+binary.BigEndian.Uint32(length[:]))
		copy(frame, length[:])
		if _, err := io.ReadFull(in, frame[4:]); err != nil {
			return err
		}
		delay := rand.N(o.Delay)
		if !o.Shuffle {
			time.Sleep(delay)
			l.deliver(frame)
			continue
		}
		l.wg.Go(func() {
			time.Sleep(delay)
			l.deliver(frame)
		})
	}
}

func (l *link) deliver(frame []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = l.out.Write(frame) // fails when nobody reads any more
}
