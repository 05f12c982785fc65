package threadstats

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// argWalked is the task among the arguments of a walk; none at its end.
const argWalked = 8

// firstNamespace is the inode of the first pid namespace (PROC_PID_INIT_INO of linux/proc_ns.h).
const firstNamespace = 0xEFFFFFFC

// translate says what number the process has in the first pid namespace, which is the one that the programs see.
func (k *Keeper) translate(pid int) (uint32, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return 0, fmt.Errorf("watching process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	first, err := inFirstNamespace()
	if err != nil {
		return 0, err
	}
	if first {
		return uint32(pid), nil
	}
	return k.fromInside(pid, fd)
}

func inFirstNamespace() (bool, error) {
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &st); err != nil {
		return false, fmt.Errorf("which pid namespace this is: %w", err)
	}
	return st.Ino == firstNamespace, nil
}

// fromInside marks the process, through its descriptor, and has the kernel walk over all processes that are visible from here: the
// one with the mark tells its number.
func (k *Keeper) fromInside(pid, pidfd int) (uint32, error) {
	if !k.shape.hasIterator {
		return 0, unsupported("processes cannot be named from inside a pid namespace; run culprit outside of it")
	}
	long := &btf.Int{Name: "unsigned int", Size: 4, Encoding: btf.Unsigned}
	marks, err := ebpf.NewMap(&ebpf.MapSpec{Name: "culprit_mark", Type: ebpf.TaskStorage, KeySize: 4, ValueSize: 4, Flags: unix.BPF_F_NO_PREALLOC, Key: long, Value: long})
	if err != nil {
		return 0, explain("naming a process inside a pid namespace", err)
	}
	defer marks.Close()
	if err := marks.Put(uint32(pidfd), uint32(1)); err != nil {
		return 0, explain("marking a process", err)
	}
	tgid, err := findMarked(k.shape, marks)
	if err != nil {
		return 0, fmt.Errorf("what process %d is called outside of this pid namespace: %w", pid, err)
	}
	return tgid, nil
}

// findMarked walks over the tasks and returns the number of the one that has a value in marks.
func findMarked(s *shape, marks *ebpf.Map) (uint32, error) {
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "culprit_marked", Type: ebpf.Tracing, AttachType: ebpf.AttachTraceIter, AttachTo: "task",
		Instructions: markedFinder(s, marks), License: license})
	if err != nil {
		return 0, explain("loading a walk over tasks", err)
	}
	defer p.Close()
	var n uint32
	err = walk(p, func(r io.Reader) (err error) {
		n, err = readNumber(r)
		return err
	})
	return n, err
}

// walk has the program see all tasks that are visible from this process's pid namespace, while read takes what it writes.
func walk(p *ebpf.Program, read func(io.Reader) error) error {
	it, err := link.AttachIter(link.IterOptions{Program: p})
	if err != nil {
		return explain("a walk over tasks", err)
	}
	defer it.Close()
	r, err := it.Open()
	if err != nil {
		return explain("a walk over tasks", err)
	}
	defer r.Close()
	return read(r)
}

// readNumber reads the four bytes that markedFinder has written.
func readNumber(r io.Reader) (uint32, error) {
	var b [4]byte
	if _, err := io.ReadFull(bufio.NewReader(r), b[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return 0, os.ErrProcessDone
		}
		return 0, err
	}
	n := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
	if n == 0 {
		return 0, errors.New("the kernel says " + strconv.Itoa(0))
	}
	return n, nil
}

// markedFinder is the program that sees each task: [R1] is how output is written, behind it the task, none at the end.
func markedFinder(s *shape, marks *ebpf.Map) asm.Instructions {
	c := &code{shape: s}
	c.add(
		asm.Mov.Reg(rContext, asm.R1),
		load(rTask, rContext, argWalked, asm.DWord),
		asm.JEq.Imm(rTask, 0, "end"),
		asm.LoadMapPtr(asm.R1, marks.FD()),
		asm.Mov.Reg(asm.R2, rTask),
		asm.Mov.Imm(asm.R3, 0),
		asm.Mov.Imm(asm.R4, 0),
		asm.FnTaskStorageGet.Call(),
		asm.JEq.Imm(asm.R0, 0, "end"),
		load(asm.R1, rTask, int(s.tgid), asm.Word),
		store(asm.R10, atProcess, asm.R1, asm.Word),
		load(asm.R1, rContext, 0, asm.DWord),
		load(asm.R1, asm.R1, 0, asm.DWord),
		asm.Mov.Reg(asm.R2, asm.R10),
		asm.Add.Imm(asm.R2, atProcess),
		asm.Mov.Imm(asm.R3, 4),
		asm.FnSeqWrite.Call(),
	)
	c.leave("end")
	return c.list
}
