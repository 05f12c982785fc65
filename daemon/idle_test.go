package daemon

import (
	"strings"
	"testing"
	"time"

	"culprit/internal/testprog"
)

// TestIdlePlaces: threads that wait for one that sleeps have nothing to do, and it is told where, and who gives them something to do.
func TestIdlePlaces(t *testing.T) {
	p := testprog.Start(t, testprog.Build(t, "testdata/culprits/mail_queue.cc"))
	d := attachTo(t, p.PID)
	time.Sleep(8 * time.Second)
	idle := d.Idle()
	t.Logf("%+v", idle)
	if len(idle.Places) == 0 || idle.Share < 0.8 {
		t.Fatal("nobody is idle")
	}
	waits := idle.Places[0]
	if !strings.Contains(waits.Function, "submit_mail") || waits.Threads < 2 || waits.Share < 0.4 || !strings.Contains(waits.WakesIn, "deliver_mail") {
		t.Errorf("first is %+v", waits)
	}
	detachClean(t, d, p.PID)
}
