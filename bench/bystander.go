package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"culprit/daemon/kernel"
)

// A bystander shares nothing with a server but processors. It uses them evenly; culprit does half of its work in the first seconds.

// burst is how long a bystander computes at once: about as long as culprit does when it wakes up.
const burst = 500 * time.Microsecond

// leastShare is what a bystander uses at least: without any share this program measures.
const leastShare = 0.001

// besides is a load while a process that has nothing to do with the server uses so much of a processor.
func besides(share float64, pid int, f load) (served, error) {
	self, err := os.Executable()
	if err != nil {
		return served{}, err
	}
	cmd := exec.Command(self, "-bystander", fmt.Sprint(max(share, leastShare)), "-span", span.String())
	if err := cmd.Start(); err != nil {
		return served{}, err
	}
	one, err := serve(pid, f)
	_ = cmd.Process.Kill() // it ends by itself, about now
	_ = cmd.Wait()
	return one, err
}

// standBy is the bystander: it computes whenever it has used less than its share.
func standBy(share float64, long time.Duration) {
	runtime.GOMAXPROCS(1)
	began := time.Now()
	for h := uint64(1); time.Since(began) < long; {
		for at := kernel.OwnTime(); kernel.OwnTime()-at < burst; {
			for range 1000 {
				h = h*6364136223846793005 + 1442695040888963407
			}
		}
		for kernel.OwnTime().Seconds() > share*time.Since(began).Seconds() && time.Since(began) < long {
			time.Sleep(time.Duration(float64(burst) / share))
		}
		runtime.KeepAlive(h)
	}
}
