package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"culprit/daemon/kernel"
)

// processorsOf are those that a process may use, this one if pid is 0.
func processorsOf(pid int) (list []int, err error) {
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(pid, &may); err != nil {
		return nil, err
	}
	for cpu := 0; len(list) < may.Count(); cpu++ {
		if may.IsSet(cpu) {
			list = append(list, cpu)
		}
	}
	return list, nil
}

// pin keeps all threads of a process on processors, and those that they make.
func pin(pid int, cpus ...int) error {
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	tids, err := kernel.ListThreads(pid)
	if err != nil {
		return err
	}
	for _, tid := range tids {
		if err := unix.SchedSetaffinity(tid, &set); err != nil {
			return err
		}
	}
	return nil
}

// childrenOf lists the processes that the first thread of one has made.
func childrenOf(pid int) (list []int, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return nil, err
	}
	for _, field := range strings.Fields(string(text)) {
		child, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		list = append(list, child)
	}
	return list, nil
}
