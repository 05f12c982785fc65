package beat

import (
	"context"
	"sync/atomic"
	"time"
)

// An Alarm wakes a search that rests: by values that came, or by a wish of the user. Its methods may be called from any goroutine.
type Alarm struct {
	values <-chan struct{} // one message for any number of values
	wishes chan struct{}
	news   atomic.Bool
	wished atomic.Bool
}

// NewAlarm makes an alarm of a channel that gives a message when values came; see grid.Grid.News.
func NewAlarm(values <-chan struct{}) *Alarm {
	return &Alarm{values: values, wishes: make(chan struct{}, 1)}
}

// Wish wakes whoever rests. Where nobody does, the next one does not rest.
func (a *Alarm) Wish() {
	a.wished.Store(true)
	select {
	case a.wishes <- struct{}{}:
	default:
	}
}

// HasWish tells that the user wished something since Granted was called.
func (a *Alarm) HasWish() bool { return a.wished.Load() }

// Granted says that whoever was woken knows what the user wishes.
func (a *Alarm) Granted() { a.wished.Store(false) }

// HasNews tells that values came since Seen was called.
func (a *Alarm) HasNews() bool {
	select {
	case <-a.values:
		a.news.Store(true)
	default:
	}
	return a.news.Load()
}

// Seen has what came so far be no news.
func (a *Alarm) Seen() { a.news.Store(false) }

// Rest waits for a time, and then until values come, the user wishes something, or a longer time is over.
func (a *Alarm) Rest(ctx context.Context, least, most time.Duration) {
	Sleep(ctx, least)
	select {
	case <-ctx.Done():
	case <-a.values:
		a.news.Store(true)
	case <-a.wishes:
	case <-time.After(most - least):
	}
}

// Sleep waits for a time, or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
