package process

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process/raw"
	faults "culprit/internal/fault"
)

// TestGivenUpCalls: a thread that was not waited for any longer completes its call, and comes back from it as it was. No other call is made before.
func TestGivenUpCalls(t *testing.T) {
	tg := start(t, compile(t, stateSource), "both")
	p := open(t, tg.pid())
	rounds := 180
	if *long {
		rounds = 6000
	}
	for i := range rounds {
		_, err := p.Stop(t.Context(), StopOptions{}, func(w *World) error {
			if _, err := w.Syscall(unix.SYS_GETPID); err != nil { // maps the page
				return w.Pending() // the call before is not complete
			}
			at := 1 + i%5 // in either call on its way in or out, or on the way back
			must(t, faults.Set(fmt.Sprintf("call.going:%d", at)))
			for call := range 2 { // behind one that was given up none is made
				_, err := w.Syscall(unix.SYS_GETPID)
				var d *raw.Deferred
				if givenUp := at <= 2*(call+1); givenUp != (errors.As(err, &d) && d.InCall) || !givenUp && err != nil {
					return fmt.Errorf("call %d, where the thread gets no CPU when it goes on for the %dth time: %v", call, at, err)
				}
			}
			return nil
		})
		must(t, faults.Set(""))
		if d := (*raw.Deferred)(nil); !errors.As(err, &d) {
			must(t, err)
		}
	}
	isTidy(t, p)
	time.Sleep(50 * time.Millisecond)
	if res := tg.finish(); res["eintr"] != 0 {
		t.Errorf("target: %v", res)
	}
}
