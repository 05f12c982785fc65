package stops

import (
	"testing"
	"time"

	"culprit/daemon/process"
)

func TestPauses(t *testing.T) {
	var l Pauses
	now := time.Now()
	if f := l.Figures(); f.Count != 0 || f.P99US != 0 || l.Total() != 0 {
		t.Errorf("before any pause: %+v", f)
	}
	l.add(process.Pause{}, now)                               // nobody was stopped
	l.add(process.Pause{Total: time.Second, Threads: 2}, now) // nor here
	for i := range 300 {
		l.add(process.Pause{Total: time.Duration(i+1) * time.Millisecond, Threads: 3, Still: 2, Cuts: i % 2}, now.Add(time.Duration(i)*time.Millisecond))
	}
	f := l.Figures()
	if f.Count != 300 || f.MaxUS != 300_000 || f.TotalUS != 300*301/2*1000 || f.ThreadStops != 600 || f.Cuts != 150 || f.LaterUS != 0 {
		t.Errorf("%+v", f)
	}
	for _, q := range []struct{ got, want int64 }{{f.P50US, 150_000}, {f.P99US, 297_000}} {
		if over := float64(q.got) / float64(q.want); over < 1 || over > 1.092 {
			t.Errorf("a quantile is %d us, of which %d are true", q.got, q.want)
		}
	}
	if last := l.Last(); len(last) != keepPauses || last[0] != 45*time.Millisecond || last[keepPauses-1] != 300*time.Millisecond {
		t.Errorf("%d of the last pauses, from %v", len(last), last[0])
	}
}

// TestPausesLater: what comes more than five seconds after the first pause counts apart, however late that came.
func TestPausesLater(t *testing.T) {
	var l Pauses
	now := time.Now()
	for i, at := range []time.Duration{0, earlyTime, earlyTime + time.Millisecond} {
		l.add(process.Pause{Total: time.Duration(i+1) * time.Millisecond, Threads: 1, Still: 1}, now.Add(at))
	}
	if f := l.Figures(); f.LaterUS != 3000 || f.TotalUS != 6000 {
		t.Errorf("%+v", f)
	}
}
