package stops

import (
	"fmt"
	"time"

	"culprit/daemon/process"
)

const (
	askFor   = 20 * time.Millisecond // in one stop
	askTries = 50                    // stops one after the other in which no thread could be asked
)

// AskThreads refuses a program of which a thread has forbidden itself to read the time-stamp counter, where the kernel does not tell: it asks each
// thread, in as many stops as that takes. check comes first in each.
func AskThreads(stop func(func(*process.World) error) error, check Check) error {
	asked := map[int]bool{}
	for idle := 0; ; idle++ {
		before, missing := len(asked), 0
		err := stop(func(w *process.World) (err error) {
			if err = check(w); err != nil {
				return err
			}
			if sure, err := w.Forbids(); sure || err != nil {
				return err
			}
			missing, err = askSome(w, asked)
			return err
		})
		switch {
		case err != nil || missing == 0:
			return err
		case len(asked) > before:
			idle = 0
		case idle == askTries:
			return &process.Unsupported{What: fmt.Sprintf("a program of which thread %d cannot be asked whether it may read the time-stamp counter", missing),
				Needs: "the right to use eBPF, or a thread that can make a system call for us"}
		}
		time.Sleep(time.Millisecond)
	}
}

// askSome asks threads that were not asked yet, for some time, and gives one that is left; 0 if none is.
func askSome(w *process.World, asked map[int]bool) (missing int, err error) {
	began := w.Elapsed()
	for _, th := range w.Threads() {
		if asked[th.TID] {
			continue
		}
		if w.Elapsed()-began > askFor {
			return th.TID, nil
		}
		is, err := w.MayReadTSC(th.TID)
		if err != nil {
			return 0, err
		}
		if asked[th.TID] = is; !is {
			delete(asked, th.TID)
			missing = th.TID
		}
	}
	return missing, nil
}
