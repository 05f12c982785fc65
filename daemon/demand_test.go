package daemon

import (
	"runtime"
	"testing"
	"time"

	"culprit/daemon/kernel"
	"culprit/internal/testprog"
)

// What we use of processors is no demand; what others use of all of them is, and has our own runtime use fewer.
func TestDemand(t *testing.T) {
	cpus, err := kernel.OnlineCPUs()
	if err != nil {
		t.Fatal(err)
	}
	usual, slack := runtime.GOMAXPROCS(0), kernel.TimerSlack()
	late := politeness
	if kernel.SetTimerSlack(slack) != nil {
		late = slack // we may not
	}
	var m demand
	now := time.Now()
	m.begin(now)
	stop := make(chan struct{})
	for range cpus {
		go func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
	}
	time.Sleep(time.Second)
	m.notice(now.Add(firstAsked/2), 0.02)
	if m.last != now {
		t.Error("it was asked too early")
	}
	m.notice(time.Now(), 0.02)
	close(stop)
	if m.busy || runtime.GOMAXPROCS(0) != usual || kernel.TimerSlack() != slack {
		t.Errorf("busy %v with our own work, %d processors to use of %d, timers %v late", m.busy, runtime.GOMAXPROCS(0), usual, kernel.TimerSlack())
	}
	for range cpus {
		p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/cpu.c"))
		defer p.Stop(t)
	}
	m.begin(time.Now())
	time.Sleep(time.Second)
	m.notice(time.Now(), 0.02)
	if few := max(len(cpus)/50, 1); !m.busy || runtime.GOMAXPROCS(0) != min(few, usual) || kernel.TimerSlack() != late {
		t.Errorf("busy %v, %d processors to use of %d, timers %v late", m.busy, runtime.GOMAXPROCS(0), usual, kernel.TimerSlack())
	}
	m.end()
	if runtime.GOMAXPROCS(0) != usual || kernel.TimerSlack() != slack {
		t.Errorf("%d processors to use and timers %v late at the end, it was %d and %v", runtime.GOMAXPROCS(0), kernel.TimerSlack(), usual, slack)
	}
}
