package threadstats

import (
	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// maps are what the programs share with each other and with this process.
type maps struct {
	filter    *ebpf.Map // one byte for each of the lowest 16 bits of a process's number: whether it may be watched
	processes *ebpf.Map // what is known of a watched process, by its number in the first namespace
	tables    *ebpf.Map // its rows, by the place that its value says: an array, since each switch looks there
	threads   *ebpf.Map // what is known of a thread, kept with the thread by the kernel
	kinds     *ebpf.Map // callKinds
	wakers    *ebpf.Map // who has ended waits of whom; of a Wakers only
	running   *ebpf.Map // of each processor the number of the thread that the last switch seen there led to
}

// filterSize is the number of bytes of the filter: most switches end at it, after two loads.
const filterSize = 1 << 16

// maxProcesses is how many processes can be watched at once.
const maxProcesses = 4096

// A process's value in maps.processes.
const (
	procShift     = 0  // 32 bits: slotShift of the table
	procMask      = 4  // 32 bits: slots - 1
	procStart     = 8  // when the process was started, ns, as its first thread that came by says: numbers are used again
	procExhausted = 16 // threads that found no row
	procKeyless   = 24 // threads that have no thread pointer
	procShared    = 32 // threads whose thread pointer is another's
	procUnseen    = 40 // switches to its threads that no trace point has told
	procTable     = 48 // 32 bits: where in maps.tables its rows are
	procSize      = 56
)

// A thread's value in maps.threads.
const (
	threadKey   = 0                            // the thread pointer for which a row was looked for
	threadIndex = 8                            // 32 bits: index of the row + 1, 0 without
	threadPid   = 12                           // 32 bits: its number when it got the row; 0 before a row was looked for
	threadFlags = 16                           // 32 bits
	threadLast  = 20                           // 32 bits: what it waited for last
	threadCount = 24                           // the counted words when they were last added to the row
	threadIn    = threadCount + 8*countedWords // when it came onto the processor, ns; 0 before it was seen to
	threadRan   = threadIn + 8                 // what it had run by then, ns
	threadDebt  = threadRan + 8                // ns, not above 0: what was charged beyond the time that it was there
	threadLeft  = threadDebt + 8               // what it had run when it left the processor, ns
	threadBase  = threadLeft + 8               // ns of the clock at which the row's time off the processor and what the thread ran were 0
	threadTable = threadBase + 8               // 32 bits: where in maps.tables the table was that the row is in
	threadSize  = threadTable + 8
)

// Bits of threadFlags: what the thread was counted as.
const (
	flagKeyless   = 1
	flagExhausted = 2
)

var filterSpec = &ebpf.MapSpec{Name: "culprit_filter", Type: ebpf.Array, KeySize: 4, ValueSize: filterSize, MaxEntries: 1, Flags: unix.BPF_F_MMAPABLE}

// tableSpec is a table of rows: a process's slots, and one that is never owned.
func tableSpec(slots int) *ebpf.MapSpec {
	return &ebpf.MapSpec{Name: "culprit_rows", Type: ebpf.Array, KeySize: 4, ValueSize: RowSize, MaxEntries: uint32(slots) + 1,
		Flags: unix.BPF_F_MMAPABLE | unix.BPF_F_INNER_MAP}
}

func newMaps() (*maps, error) {
	m := &maps{}
	word := &btf.Int{Name: "unsigned int", Size: 4, Encoding: btf.Unsigned}
	long := &btf.Int{Name: "unsigned long", Size: 8, Encoding: btf.Unsigned}
	for _, c := range []struct {
		to   **ebpf.Map
		spec *ebpf.MapSpec
	}{
		{&m.filter, filterSpec},
		{&m.processes, &ebpf.MapSpec{Name: "culprit_procs", Type: ebpf.Hash, KeySize: 4, ValueSize: procSize, MaxEntries: maxProcesses}},
		{&m.tables, &ebpf.MapSpec{Name: "culprit_tables", Type: ebpf.ArrayOfMaps, KeySize: 4, ValueSize: 4, MaxEntries: maxProcesses, InnerMap: tableSpec(minSlots)}},
		{&m.threads, &ebpf.MapSpec{Name: "culprit_threads", Type: ebpf.TaskStorage, KeySize: 4, ValueSize: threadSize, Flags: unix.BPF_F_NO_PREALLOC,
			Key: word, Value: &btf.Array{Index: word, Type: long, Nelems: threadSize / 8}}},
		{&m.kinds, &ebpf.MapSpec{Name: "culprit_calls", Type: ebpf.Array, KeySize: 4, ValueSize: maxCalls, MaxEntries: 1, Flags: unix.BPF_F_RDONLY_PROG,
			Contents: []ebpf.MapKV{{Key: uint32(0), Value: callKinds()}}}},
		{&m.running, &ebpf.MapSpec{Name: "culprit_running", Type: ebpf.PerCPUArray, KeySize: 4, ValueSize: 4, MaxEntries: 1}},
	} {
		made, err := ebpf.NewMap(c.spec)
		if err != nil {
			m.close()
			return nil, explain("making the map "+c.spec.Name, err)
		}
		*c.to = made
	}
	return m, nil
}

// close gives the maps back; what is nil was never made.
func (m *maps) close() {
	for _, one := range []*ebpf.Map{m.filter, m.processes, m.tables, m.threads, m.kinds, m.wakers, m.running} {
		if one != nil {
			one.Close()
		}
	}
}
