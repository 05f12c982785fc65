package main

import (
	"errors"
	"os/exec"
	"time"

	"culprit/daemon/kernel"
)

// A steady load goes on for as long as it was told to, and tells what was done in each second.
type steady interface {
	watch() ([]second, error) // waits for its end
}

// A second of a load.
type second struct {
	transactions float64 // or requests
	clients      float64 // processors that the clients had
	speed        float64 // of the processors, in the speedometer's unit
}

// eachSecond waits for clients to end. Meanwhile it asks each second how much was done in all until then, and what the clients have used.
func eachSecond(clients []*exec.Cmd, total func() (float64, error)) (list []second, err error) {
	fast, err := startSpeedometer()
	if err != nil {
		kill(clients)
		return nil, errors.Join(err, wait(clients))
	}
	defer fast.close()
	ended := make(chan error, 1)
	go func() { ended <- wait(clients) }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last, since := second{clients: used(clients)}, time.Now()
	if last.transactions, err = total(); err != nil {
		kill(clients)
		return nil, errors.Join(err, <-ended)
	}
	for {
		select {
		case err := <-ended:
			return list, err
		case <-tick.C:
		}
		sum, err := total()
		if err != nil {
			kill(clients)
			return nil, errors.Join(err, <-ended)
		}
		now, at := second{transactions: sum, clients: used(clients)}, time.Now()
		took := at.Sub(since).Seconds()
		list = append(list, second{(now.transactions - last.transactions) / took, (now.clients - last.clients) / took, fast.read()})
		last, since = now, at
	}
}

// used is the clients' processor time in seconds, of all their threads; none of those that have ended.
func used(clients []*exec.Cmd) (sum float64) {
	for _, cmd := range clients {
		took, _ := kernel.ProcessTime(cmd.Process.Pid)
		sum += took.Seconds()
	}
	return sum
}

func wait(clients []*exec.Cmd) error {
	var errs []error
	for _, cmd := range clients {
		errs = append(errs, cmd.Wait())
	}
	return errors.Join(errs...)
}

// kill ends clients early; who waits for them learns of it.
func kill(clients []*exec.Cmd) {
	for _, cmd := range clients {
		cmd.Process.Kill()
	}
}
