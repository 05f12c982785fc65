package remote

import (
	"math"
	"slices"
	"sync"
	"time"

	"culprit/grid"
	"culprit/grid/wire"
)

// accountFor is how long an account is believed.
const accountFor = time.Second

// A picture is what the daemon has told last. The zero value knows nothing: no CPU is known to be busy.
type picture struct {
	once sync.Once

	mu      sync.Mutex
	base    time.Time     // what Now counts from, on our clock
	ahead   time.Duration // the daemon's clock is at least so far ahead of time.Since(base)
	status  wire.Status
	told    bool
	targets []grid.TargetInfo
	account *wire.Account
	taken   time.Time
}

// see notes that the daemon's clock has shown a time: since a message takes time, the latest one is the nearest to the truth.
func (p *picture) see(session float64, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seeLocked(session, now)
}

func (p *picture) seeLocked(session float64, now time.Time) {
	if p.base.IsZero() {
		p.base = now
	}
	p.ahead = max(p.ahead, time.Duration(session*float64(time.Second))-now.Sub(p.base))
}

// take keeps what a batch tells.
func (p *picture) take(b *wire.Batch, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b.Status != nil {
		p.status, p.told = *b.Status, true
		p.seeLocked(b.Status.At, now)
	}
	if b.Targets != nil {
		p.targets = b.Targets
	}
}

func (p *picture) keep(a *wire.Account) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a != nil {
		p.account, p.taken = a, time.Now()
	}
}

// Now is the time since the session started by the daemon's clock, in s, as far as it is known: late by what a message takes.
func (d *Daemon) Now() float64 {
	p := &d.picture
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.base.IsZero() {
		return 0
	}
	return (time.Since(p.base) + p.ahead).Seconds()
}

// Tree is a copy of the daemon's.
func (d *Daemon) Tree() *grid.Tree { return d.tree }

// Ended is closed when all targets have ended, or the connection has.
func (d *Daemon) Ended() <-chan struct{} { return d.ended }

// Targets lists what is measured and what was.
func (d *Daemon) Targets() []grid.TargetInfo {
	now := d.Now()
	d.picture.mu.Lock()
	defer d.picture.mu.Unlock()
	list := slices.Clone(d.picture.targets)
	for i := range list {
		if !list[i].Ended {
			list[i].To = now
		}
	}
	return list
}

// ObservedCost implements grid.Instrumenter.
func (d *Daemon) ObservedCost() float64 { return d.statusNow().Observed }

// Costs implements grid.Instrumenter.
func (d *Daemon) Costs() map[grid.PairKey]float64 {
	told := d.statusNow().Costs
	d.mu.Lock()
	defer d.mu.Unlock()
	costs := make(map[grid.PairKey]float64, len(told))
	for _, c := range told {
		if int(c.ID) < len(d.keys) {
			costs[d.keys[c.ID]] = c.Cost
		}
	}
	return costs
}

// Spare is how many seconds of a CPU the search may use now; +Inf while nothing is known.
func (d *Daemon) Spare() float64 {
	s := d.statusNow()
	if !d.picture.isTold() {
		return math.Inf(1)
	}
	return s.Spare
}

// Stood is how many seconds each target was stopped so far, on average.
func (d *Daemon) Stood() float64 { return d.statusNow().Stood }

func (d *Daemon) statusNow() wire.Status {
	d.picture.mu.Lock()
	defer d.picture.mu.Unlock()
	return d.picture.status
}

func (p *picture) isTold() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told
}

// accountNow asks what the session has cost, if that is not known from a moment ago.
func (d *Daemon) accountNow() wire.Account {
	p := &d.picture
	p.mu.Lock()
	fresh := p.account != nil && time.Since(p.taken) < accountFor
	p.mu.Unlock()
	if !fresh {
		if a, err := d.ask(wire.Command{Account: &wire.Nothing{}}); err == nil {
			p.keep(a.Account)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.account == nil {
		return wire.Account{}
	}
	return *p.account
}

// Overhead is what the session costs.
func (d *Daemon) Overhead() grid.Overhead { return d.accountNow().Overhead }

// Probes counts the sites that were patched.
func (d *Daemon) Probes() grid.Probes { return d.accountNow().Probes }

// UnmeasuredChildren is the CPU time of children that ended before they could be measured, and its share of all.
func (d *Daemon) UnmeasuredChildren() (used time.Duration, share float64) {
	a := d.accountNow()
	return time.Duration(a.UnmeasuredNS), a.UnmeasuredShare
}
