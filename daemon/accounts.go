package daemon

import "time"

// The time that a hypervisor takes from a thread is added to the thread's statistics at its next context switch. It is added sooner where
// an eBPF program runs each time that the scheduler accounts for a thread, several times at each switch. For short-running threads the next
// context switch delivers the same value, so the program would only add overhead (100 k runs/s). So it is attached only while some thread
// runs for long at a time.

// longRunsLinger is for how long accounts are wanted when no thread runs for long at a time any more.
const longRunsLinger = 2 * time.Second

// accounts is whether that program is there.
type accounts struct {
	wanted  int // parts whose timers read processor time from rows
	held    bool
	refused bool      // by the kernel; it is not asked again
	seen    time.Time // when some thread ran for long last
}

// wantAccounts has the scheduler's accounts in the rows while they matter, until unwantAccounts. d.mu is held.
func (d *Daemon) wantAccounts() {
	d.accounts.wanted++
	d.followAccounts(time.Now())
}

// unwantAccounts ends wantAccounts. d.mu is held.
func (d *Daemon) unwantAccounts() {
	d.accounts.wanted--
	d.followAccounts(time.Now())
}

// followAccounts has the program there or not, by what the threads did until the last pass. Without it timers are right as of their
// threads' last switch. d.mu is held.
func (d *Daemon) followAccounts(now time.Time) {
	a := &d.accounts
	if d.runsLong() {
		a.seen = now
	}
	needed := a.wanted > 0 && !a.refused && now.Sub(a.seen) < longRunsLinger
	switch {
	case needed == a.held:
	case !needed:
		d.rows.keeper.ReleaseAccount()
		a.held = false
	default:
		err := d.rows.keeper.NeedAccount()
		if a.held, a.refused = err == nil, err != nil; a.refused {
			d.logf("what the hypervisor takes from threads that run for long shows late: %v", err)
		}
	}
}

// runsLong tells whether a thread of a target ran for long at a time until the last pass. d.mu is held.
func (d *Daemon) runsLong() bool {
	for _, t := range d.targets {
		if !t.ended && t.Threads.RunsLong() {
			return true
		}
	}
	return false
}
