package lazy

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// Guard turns a panic of a parser (ours or a library's) on hostile input into an error.
func Guard(err *error, what string) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%s: damaged file: %v", what, p)
	}
}

// A Value is computed a value once, on first use, but never in a stop.
type Value[T any] struct {
	once sync.Once
	done atomic.Bool // it is there
	val  T
	err  error
}

func (l *Value[T]) Set(v T) { l.once.Do(func() { l.val = v; l.done.Store(true) }) }

func (l *Value[T]) Get(what string, f func() (T, error)) (T, error) {
	if !l.done.Load() && InStop(what+": a table of it", func() { _, _ = l.Get(what, f) }) {
		var none T
		return none, ErrInStop
	}
	l.once.Do(func() {
		defer l.done.Store(true)
		defer Guard(&l.err, what)
		l.val, l.err = f()
	})
	return l.val, l.err
}

// Done reports whether it is there, so that Get answers at once.
func (l *Value[T]) Done() bool { return l.done.Load() }

// Err is the error with which it was computed, nil if it was not yet.
func (l *Value[T]) Err() error {
	if !l.done.Load() {
		return nil
	}
	return l.err
}
