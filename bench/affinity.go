package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// processors are those that this process may use.
func processors() (list []int, err error) {
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		return nil, err
	}
	for cpu := 0; len(list) < may.Count(); cpu++ {
		if may.IsSet(cpu) {
			list = append(list, cpu)
		}
	}
	return list, nil
}

// pin keeps a process of one thread on a processor.
func pin(pid, cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	return unix.SchedSetaffinity(pid, &set)
}

// pinThreads keeps all threads of a process on a processor, and those that they make.
func pinThreads(pid, cpu int) error {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return err
	}
	for _, t := range tasks {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			return err
		}
		if err := pin(tid, cpu); err != nil {
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
