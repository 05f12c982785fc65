package daemon

import (
	"math"
	"testing"
	"time"

	"culprit/daemon/rows"
	"culprit/grid"
	"culprit/internal/testprog"
)

// TestAccount: what we may use grows with time and shrinks with what we use, and what was long ago is forgotten.
func TestAccount(t *testing.T) {
	var a account
	at := time.Now()
	a.enter(at, time.Second, 0.04, true) // what was used before the first entry is nobody's debt
	if a.saved != 0 {
		t.Errorf("saved %g at first", a.saved)
	}
	a.enter(at.Add(10*time.Second), 1300*time.Millisecond, 0.04, true)
	if want := longestCredit * 0.04; math.Abs(a.saved-want) > 1e-9 { // 0.1 s more than it used, which is more than is kept
		t.Errorf("saved %g after 10 s at 4 %% with 0.3 s used, want %g", a.saved, want)
	}
	a.enter(at.Add(11*time.Second), 2300*time.Millisecond, 0.04, true)
	if want := longestCredit*0.04 + 0.04 - 1; math.Abs(a.saved-want) > 1e-9 {
		t.Errorf("saved %g after a second of a whole processor, want %g", a.saved, want)
	}
	a.enter(at.Add(12*time.Second), time.Minute, 0.04, true)
	if math.Abs(a.saved+longestDebt*0.04) > 1e-9 {
		t.Errorf("saved %g after a minute's debt, want %g", a.saved, -longestDebt*0.04)
	}
	a.enter(at.Add(13*time.Second), 2*time.Minute, 0.04, false)
	if want := (1 - longestDebt) * 0.04; math.Abs(a.saved-want) > 1e-9 {
		t.Errorf("saved %g after a second in which processors were idle, want %g", a.saved, want)
	}
	a.enter(at.Add(time.Hour), 2*time.Minute, 0.04, true)
	if math.Abs(a.saved-longestCredit*0.04) > 1e-9 {
		t.Errorf("saved %g after an hour, want %g", a.saved, longestCredit*0.04)
	}
}

// TestTaken: what probes and the kernel's programs take of the targets counts as used.
func TestTaken(t *testing.T) {
	const switches = 1e5
	var d Daemon
	watched, other := &target{d: &d}, &target{d: &d}
	watched.kept.table = new(rows.Table)
	for _, tg := range []*target{watched, other} {
		tg.threads = newThreadTable(tg)
		tg.threads.rows[1] = &threadRow{wakes: switches}
		d.targets = append(d.targets, tg)
	}
	d.accountTaken(2, 0.01)
	if got := d.inTargets(); got != 20*time.Millisecond {
		t.Errorf("%v of probes that took 1 %% of a processor for 2 s", got)
	}
	d.rows.keeper = new(rows.Keeper)
	d.accountTaken(1, 0)
	if got, want := d.inTargets(), time.Duration((0.02+switches*programsCost)*1e9); (got - want).Abs() > time.Microsecond {
		t.Errorf("%v with the programs of %.0f switches, want %v", got, switches, want)
	}
}

// TestStill: passes are rare while processors are busy, too much was taken of them, and nothing is measured by probes or rows.
func TestStill(t *testing.T) {
	of := func(parts ...*part) *pair { return &pair{parts: parts} }
	kept := of(&part{}, &part{})
	for _, c := range []struct {
		name  string
		busy  bool
		saved float64
		pairs []*pair
		want  float64
	}{
		{"idle processors", false, -1, []*pair{kept}, passShare},
		{"time to spare", true, 0.1, []*pair{kept}, busyShare},
		{"a probe", true, -1, []*pair{kept, of(&part{}, &part{sites: []*site{{}}})}, busyShare},
		{"the kernel's rows", true, -1, []*pair{of(&part{needs: true})}, busyShare},
		{"a target that is only looked at", true, -1, []*pair{of(&part{estimate: &estimate{}})}, busyShare},
		{"nothing", true, -1, []*pair{kept}, stillShare},
	} {
		d := Daemon{pairs: map[grid.PairKey]*pair{}}
		d.demand.busy, d.account.saved = c.busy, c.saved
		for i, p := range c.pairs {
			d.pairs[grid.PairKey{Metric: string(rune('a' + i))}] = p
		}
		if got := d.passShare(); got != c.want {
			t.Errorf("%s: passes take %g, want %g", c.name, got, c.want)
		}
	}
}

// TestStillLooks: threads of a real process are looked at in each round, and in one of stillRounds while nobody waits for values.
func TestStillLooks(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/cpu.c"))
	d := attachTo(t, p.PID)
	looks := func(saved float64) int {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.demand.busy, d.demand.next, d.account.saved = true, time.Now().Add(time.Hour), saved
		before := d.targets[0].profile.next
		for range 2 * stillRounds {
			d.look()
		}
		return d.targets[0].profile.next - before
	}
	if one, all := looks(-1), looks(1); one != 2 || all != 2*stillRounds {
		t.Errorf("a thread is looked at %d times in %d rounds while nothing is measured, %d else", one, 2*stillRounds, all)
	}
	detachClean(t, d, p.PID)
	p.Stop(t)
}
