// Package threadname says how a thread is called in a sentence: by its name where that tells something, else by its number. Any goroutine may
// call it.
package threadname

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A Program is a process whose threads may be told without it.
type Program struct {
	PID int
	Exe string // a path
}

// A Name is what is told of a thread.
type Name struct {
	TID     int    // 0 if the text names no thread, but the kernel
	Name    string // "" if it is not known, or just that of its program; the first thread's is what ps calls the process
	Process string // its process, as "postgres(4711)", where that is another one than the target itself; else ""
	Main    bool   // it is the first thread of its process
	text    string // as it was written
}

// commLength is how much of a thread's name Linux keeps.
const commLength = 15

// Read reads the name of a thread as the hierarchy Process has it: "thr_7{writer}" of one of the programs, "srv{7}/thr_7{writer}" of any process.
// Any other text, such as one that stands for the kernel, is taken as it is.
func Read(text string, programs []Program) Name {
	t := Name{text: text}
	process, thread := "", text
	if i := strings.LastIndex(text, "/thr_"); i >= 0 {
		process, thread = text[:i], text[i+1:]
	}
	number, name, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(thread, "thr_"), "}"), "{")
	tid, err := strconv.Atoi(number)
	if err != nil || !strings.HasPrefix(thread, "thr_") {
		return t
	}
	t.TID, t.Name = tid, name
	program, pid, _ := strings.Cut(strings.TrimSuffix(process, "}"), "{")
	t.Main = pid == number
	if process != "" {
		t.Process = fmt.Sprintf("%s(%s)", program, pid)
	} else if i := slices.IndexFunc(programs, func(p Program) bool { return p.PID == tid }); i >= 0 {
		t.Main = true
	}
	same := func(program string) bool { return isComm(name, path.Base(program)) }
	if process != "" && same(program) || process == "" && (t.Main && len(programs) == 0 || slices.ContainsFunc(programs, func(p Program) bool { return same(p.Exe) })) {
		t.Name = ""
	}
	if t.Main && t.Process != "" && t.Name != "" {
		t.Process = fmt.Sprintf("%s(%s)", t.Name, pid)
	}
	return t
}

// isComm reports whether the name of a thread is the one that a program's threads have by themselves.
func isComm(name, program string) bool {
	return name == program || len(name) == commLength && strings.HasPrefix(program, name)
}

// String is the thread in a sentence: "thread writer", "thread 4250", "the main thread of postgres(4711)".
func (t Name) String() string {
	switch {
	case t.TID == 0:
		return t.text
	case t.Main && t.Process != "":
		return t.Process
	case t.Main && t.Name != "":
		return "the main thread, " + t.Name
	case t.Main:
		return "the main thread"
	case t.Name != "":
		return "thread " + t.Name + t.Of()
	}
	return fmt.Sprintf("thread %d", t.TID) + t.Of()
}

// Of names the process, after the thread, where it has to be said; else it is "".
func (t Name) Of() string {
	if t.Process == "" {
		return ""
	}
	return " of " + t.Process
}

// Stem is the name without a number at its end, as that of the workers of a pool.
func (t Name) Stem() string { return strings.TrimRight(t.Name, "0123456789") }
