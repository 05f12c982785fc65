package replay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"

	"culprit/grid/wire"
)

// A record is one message as it was seen.
type record struct {
	At      float64       `cbor:"1,keyasint"` // s since the recording began
	Command *wire.Command `cbor:"2,keyasint,omitempty"`
	Batch   *wire.Batch   `cbor:"3,keyasint,omitempty"`
}

// A recorder is a connection of a client of which everything is written down.
type recorder struct {
	io.ReadWriteCloser
	began  time.Time
	sent   *splitter
	came   *splitter
	mu     sync.Mutex
	out    *cbor.Encoder
	failed error
}

// Record has all messages of a client's connection written to w. An error of w ends the recording, not the connection; Close returns it.
func Record(conn io.ReadWriteCloser, w io.Writer) io.ReadWriteCloser {
	r := &recorder{ReadWriteCloser: conn, began: time.Now(), out: cbor.NewEncoder(w)}
	r.sent = newSplitter(func(m *wire.Reader) error {
		c := &wire.Command{}
		if err := m.Read(c); err != nil {
			return err
		}
		return r.write(record{Command: c})
	})
	r.came = newSplitter(func(m *wire.Reader) error {
		b := &wire.Batch{}
		if err := m.Read(b); err != nil {
			return err
		}
		return r.write(record{Batch: b})
	})
	return r
}

// Read reads, and records what came.
func (r *recorder) Read(p []byte) (int, error) {
	n, err := r.ReadWriteCloser.Read(p)
	r.note(r.came.take(p[:n]))
	return n, err
}

// Write writes, and records what was sent.
func (r *recorder) Write(p []byte) (int, error) {
	r.note(r.sent.take(p))
	return r.ReadWriteCloser.Write(p)
}

// Close closes the connection. The error is also that of the recording.
func (r *recorder) Close() error {
	r.mu.Lock()
	failed := r.failed
	r.mu.Unlock()
	return errors.Join(r.ReadWriteCloser.Close(), failed)
}

func (r *recorder) note(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil && r.failed == nil {
		r.failed = fmt.Errorf("the recording ends: %w", err)
	}
}

func (r *recorder) write(one record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failed != nil {
		return nil
	}
	one.At = time.Since(r.began).Seconds()
	return r.out.Encode(one)
}

// A splitter finds messages in what comes in pieces.
type splitter struct {
	buffer bytes.Buffer
	read   func(*wire.Reader) error
}

func newSplitter(read func(*wire.Reader) error) *splitter { return &splitter{read: read} }

// take adds a piece and reads the messages that are whole.
func (s *splitter) take(piece []byte) error {
	s.buffer.Write(piece)
	for {
		n, ok := wire.FrameLength(s.buffer.Bytes())
		if !ok || s.buffer.Len() < n {
			return nil
		}
		if err := s.read(wire.NewReader(bytes.NewReader(s.buffer.Next(n)))); err != nil {
			return err
		}
	}
}
