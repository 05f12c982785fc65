package kernel

import (
	"fmt"
	"os"
)

// An Idle tells how busy the machine's processors are, from one reading to the next (/proc/uptime). The zero value is ready.
type Idle struct {
	up, idle float64 // s, of the last reading; idle of all processors together
}

// Share is the part of the processors' time since the last call in which they had nothing to do, 0 to 1; 1 at the first call, and where it is not known. Calls should
// be a second apart: the kernel counts in hundredths.
func (i *Idle) Share() float64 {
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return 1
	}
	last := *i
	_, err = fmt.Sscan(string(text), &i.up, &i.idle)
	cpus, cpusErr := OnlineCPUs()
	if err != nil || cpusErr != nil || last.up == 0 || i.up <= last.up {
		return 1
	}
	return min(max((i.idle-last.idle)/(i.up-last.up)/float64(max(len(cpus), 1)), 0), 1)
}
