package kernel

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// cpuclockSched is the clock of a process that counts what the scheduler gave to all of its threads (CPUCLOCK_SCHED of
// linux/posix-timers.h); its number is made of that and the process id.
const cpuclockSched = 2

// ProcessTime is the processor time of a process so far, in user and kernel mode: of all its threads, those that have ended too. The
// error is of a process that is gone.
func ProcessTime(pid int) (time.Duration, error) {
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|cpuclockSched), &ts); err != nil {
		return 0, fmt.Errorf("the CPU time of process %d: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}
