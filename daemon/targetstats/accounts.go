package targetstats

import "time"

// The time that a hypervisor takes from a thread is added to the thread's statistics at its next context switch. It is added sooner where
// an eBPF program runs each time that the scheduler accounts for a thread, several times at each switch. For short-running threads the next
// context switch delivers the same value, so the program would only add overhead (100 k runs/s). So it is attached only while some thread
// runs for long at a time.

// LongRunsLinger is for how long accounts are followed when no thread runs for long at a time any more.
const LongRunsLinger = 2 * time.Second

// accounts is whether that program is attached.
type accounts struct {
	wanted  int // by those whose statistics must be up to date between context switches
	held    bool
	refused bool      // by the kernel; it is not asked again
	seen    time.Time // when some thread ran for long last
}

// FollowsAccounts reports whether the scheduler's accounts are followed.
func (p *Programs) FollowsAccounts() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accounts.held
}

// wantAccounts has the scheduler's accounts followed while they matter, until unwantAccounts.
func (p *Programs) wantAccounts() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accounts.wanted++
	p.updateAccounts(time.Now())
}

// unwantAccounts ends wantAccounts.
func (p *Programs) unwantAccounts() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accounts.wanted--
	p.updateAccounts(time.Now())
}

// UpdateAccounts attaches the program or detaches it, by what the threads did until the last pass. Without it timers are right as of their
// threads' last switch.
func (p *Programs) UpdateAccounts(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.updateAccounts(now)
}

// updateAccounts is UpdateAccounts. p.mu is held.
func (p *Programs) updateAccounts(now time.Time) {
	a := &p.accounts
	if p.RunsLong() {
		a.seen = now
	}
	needed := a.wanted > 0 && !a.refused && now.Sub(a.seen) < LongRunsLinger
	switch {
	case needed == a.held:
	case !needed:
		p.keeper.Load().ReleaseAccount()
		a.held = false
	default:
		err := p.keeper.Load().NeedAccount()
		if a.held, a.refused = err == nil, err != nil; a.refused {
			p.Logf("what the hypervisor takes from threads that run for long shows late: %v", err)
		}
	}
}
