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
			must(t, faults.Set(fmt.Sprintf("call.going:%d", 1+i%3)))
			for range 2 { // the second is not made
				_, err := w.Syscall(unix.SYS_GETPID)
				var d *raw.Deferred
				if !errors.As(err, &d) || !d.InCall {
					return fmt.Errorf("the call was waited for: %v", err)
				}
				must(t, faults.Set(""))
			}
			return nil
		})
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
