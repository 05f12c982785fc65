package threadstats

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"culprit/internal/kerneltypes"
)

// A hook says where a program goes: to a trace point, or to software events of perf on every processor.
type hook struct {
	name   string   // of the program
	points []string // trace points, all with the same first arguments; each takes a copy of the program
	events []uint64 // numbers of software events (linux/perf_event.h)
	make   func(*shape, *maps) asm.Instructions
}

// An attached is a program that the kernel runs, until it is detached.
type attached struct {
	hook    hook
	point   string
	program *ebpf.Program
	links   []io.Closer
}

func (a *attached) close() error { return errors.Join(a.detach(), a.program.Close()) }

// detach leaves the program loaded.
func (a *attached) detach() error {
	var errs []error
	for _, l := range a.links {
		errs = append(errs, l.Close())
	}
	a.links = nil
	return errors.Join(errs...)
}

// closeAll detaches in the opposite order.
func closeAll(all []*attached) error {
	var errs []error
	for i := len(all) - 1; i >= 0; i-- {
		errs = append(errs, all[i].close())
	}
	return errors.Join(errs...)
}

// attach loads and attaches programs, all or none.
func (k *Keeper) attach(hooks []hook) ([]*attached, error) {
	loaded, err := k.load(hooks)
	if err != nil {
		return nil, err
	}
	defer loaded.Close() // what was taken out of it stays
	var all []*attached
	for _, h := range hooks {
		for _, point := range h.places() {
			a := &attached{hook: h, point: point, program: loaded.DetachProgram(h.key(point))}
			all = append(all, a)
			if err := a.attach(); err != nil {
				closeAll(all)
				return nil, err
			}
		}
	}
	return all, nil
}

// places lists what needs a program of its own; "" stands for all the events.
func (h hook) places() []string {
	if len(h.events) > 0 {
		return []string{""}
	}
	return h.points
}

func (h hook) key(point string) string { return h.name + " " + point }

// load has the kernel check and translate the programs.
func (k *Keeper) load(hooks []hook) (*ebpf.Collection, error) {
	return k.loadAll(func() map[string]*ebpf.ProgramSpec {
		specs := map[string]*ebpf.ProgramSpec{}
		for _, h := range hooks {
			for _, point := range h.places() {
				spec := &ebpf.ProgramSpec{Name: h.name, Type: ebpf.PerfEvent, Instructions: h.make(k.shape, k.maps), License: license}
				if point != "" {
					spec.Type, spec.AttachType, spec.AttachTo = ebpf.Tracing, ebpf.AttachTraceRawTp, point
				}
				specs[h.key(point)] = spec
			}
		}
		return specs
	})
}

// loadAll loads programs, by the kernel's description of its types: at first as kernels of today want them, then as all do.
func (k *Keeper) loadAll(specs func() map[string]*ebpf.ProgramSpec) (*ebpf.Collection, error) {
	if k.types == nil {
		k.types = kerneltypes.Cache()
	}
	try := func(options ebpf.ProgramOptions) (*ebpf.Collection, error) {
		return ebpf.NewCollectionWithOptions(&ebpf.CollectionSpec{Programs: specs(), ByteOrder: binary.LittleEndian},
			ebpf.CollectionOptions{Cache: k.types, Programs: options})
	}
	if k.shape.hasMayGoto || k.shape.casts != nil {
		if loaded, err := try(ebpf.ProgramOptions{LogDisabled: true}); err == nil {
			return loaded, nil
		}
		k.shape.anywhere()
	}
	loaded, err := try(ebpf.ProgramOptions{})
	return loaded, explain("loading programs", err)
}

// attachAgain attaches programs that were detached and are loaded still, all or none.
func attachAgain(all []*attached) error {
	for i, a := range all {
		if err := a.attach(); err != nil {
			detachAll(all[:i+1])
			return err
		}
	}
	return nil
}

// detachAll detaches in the opposite order, and leaves the programs loaded.
func detachAll(all []*attached) {
	for i := len(all) - 1; i >= 0; i-- {
		_ = all[i].detach() // closing a descriptor detaches, whatever it says
	}
}

// attach has the program run at a trace point, or at every one of its events on each processor that is online.
func (a *attached) attach() error {
	if a.point != "" {
		l, err := link.AttachTracing(link.TracingOptions{Program: a.program, AttachType: ebpf.AttachTraceRawTp})
		if err == nil {
			a.links = append(a.links, l)
		}
		return explain("attaching to "+a.point, err)
	}
	for _, cpu := range onlineProcessors() {
		for _, event := range a.hook.events {
			fd, err := openEvent(event, cpu, a.program.FD())
			if err != nil {
				return explain("attaching to a software event", err)
			}
			a.links = append(a.links, fd)
		}
	}
	return nil
}

// openEvent opens a software event for all threads on a processor, with nothing but a program at each.
func openEvent(event uint64, cpu, program int) (io.Closer, error) {
	attr := &unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: event, Sample: 1, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{}))}
	fd, err := unix.PerfEventOpen(attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("perf_event_open", err)
	}
	if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_BPF, program); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("PERF_EVENT_IOC_SET_BPF", err)
	}
	return descriptor(fd), nil
}

// A descriptor closes itself.
type descriptor int

func (d descriptor) Close() error { return unix.Close(int(d)) }

// onlineProcessors lists the processors that run now, from the kernel's own list ("0-3,6").
func onlineProcessors() []int {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if list := processorList(strings.TrimSpace(string(text))); err == nil && len(list) > 0 {
		return list
	}
	list := make([]int, runtime.NumCPU())
	for i := range list {
		list[i] = i
	}
	return list
}

// maxProcessors bounds what processorList believes.
const maxProcessors = 1 << 13

// processorList reads a list of processors; nil if it is none.
func processorList(text string) []int {
	var list []int
	for part := range strings.SplitSeq(text, ",") {
		from, to, ranged := strings.Cut(part, "-")
		if !ranged {
			to = from
		}
		first, err1 := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil || first < 0 || last < first || last >= maxProcessors {
			return nil
		}
		for cpu := first; cpu <= last; cpu++ {
			list = append(list, cpu)
		}
	}
	return list
}
