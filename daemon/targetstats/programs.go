package targetstats

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"culprit/daemon/threadstats"
)

// Programs is the kernel's side of per-thread statistics: eBPF programs, loaded when they are first asked for. Without Close they stay loaded
// until this process ends. The fields are set before it is used.
type Programs struct {
	// RunsLong reports whether a thread of a target ran for long at a time lately.
	RunsLong func() bool
	// Logf tells people what went wrong without ending anything.
	Logf func(format string, args ...any)
	// Load loads the programs; nil for threadstats.Open.
	Load func() (*threadstats.Keeper, error)

	once   sync.Once
	keeper atomic.Pointer[threadstats.Keeper]
	err    error

	mu       sync.Mutex // may be held where RunsLong is asked
	accounts accounts
}

// Open loads the programs, if that was not done, and says why there are none.
func (p *Programs) Open() error {
	_, err := p.open()
	return err
}

func (p *Programs) open() (*threadstats.Keeper, error) {
	p.once.Do(func() {
		load := p.Load
		if load == nil {
			load = threadstats.Open
		}
		keeper, err := load()
		if p.err = err; err == nil {
			p.keeper.Store(keeper)
		}
	})
	return p.keeper.Load(), p.err
}

// unreadFor is for how long nobody must have read statistics for the programs to rest: to begin again takes a few milliseconds.
const unreadFor = 400 * time.Millisecond

// Rest has the programs do nothing while nobody reads statistics.
func (p *Programs) Rest() {
	if keeper := p.keeper.Load(); keeper != nil {
		keeper.Rest(unreadFor)
	}
}

// Running reports whether the programs keep statistics.
func (p *Programs) Running() bool {
	keeper := p.keeper.Load()
	return keeper != nil && !keeper.Resting()
}

// Close unloads them. No table may be in use any more.
func (p *Programs) Close() {
	p.once.Do(func() { p.err = errors.New("the session is over") })
	if keeper := p.keeper.Load(); keeper != nil {
		keeper.Close()
	}
}

// Need has a quantity kept until release is called. withAccounts says that it is up to date only where the scheduler's accounts are followed.
func (p *Programs) Need(q threadstats.Quantity, withAccounts bool) (release func(), err error) {
	keeper, err := p.open()
	if err == nil {
		err = keeper.Need(q)
	}
	if err != nil {
		return nil, err
	}
	if withAccounts {
		p.wantAccounts()
	}
	return sync.OnceFunc(func() {
		keeper.Release(q)
		if withAccounts {
			p.unwantAccounts()
		}
	}), nil
}
