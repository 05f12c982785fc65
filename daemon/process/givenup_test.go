package process

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	faults "culprit/internal/fault"
)

// TestGivenUpCalls: a thread that was not waited for any longer completes its call, and comes back from it as it was, whatever calls others make
// meanwhile.
func TestGivenUpCalls(t *testing.T) {
	tg := start(t, compile(t, stateSource), "both")
	p := open(t, tg.pid())
	rounds := 60
	if *long {
		rounds = 2000
	}
	for i := range rounds {
		_, err := p.Stop(t.Context(), StopOptions{}, func(w *World) error {
			_, _ = w.Syscall(unix.SYS_GETPID) // maps the page
			for n := range 3 {
				must(t, faults.Set(fmt.Sprintf("call.going:%d", 1+(i+n)%3)))
				_, err := w.Syscall(unix.SYS_GETPID)
				var d *Deferred
				if !errors.As(err, &d) {
					return fmt.Errorf("the call was waited for: %v", err)
				}
				must(t, faults.Set(""))
				_, _ = w.Syscall(unix.SYS_GETPPID)
			}
			return nil
		})
		must(t, err)
	}
	var last error
	eventually(t, "all calls are complete, and pages gone", func() bool {
		_, last = p.Stop(t.Context(), StopOptions{}, func(w *World) error { return errors.Join(w.Pending(), w.Tidy()) })
		return last == nil && len(Leftovers(must2(p.Maps()))) == 0
	})
	time.Sleep(50 * time.Millisecond)
	if res := tg.finish(); res["eintr"] != 0 {
		t.Errorf("target: %v", res)
	}
}
