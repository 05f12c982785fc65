package threadstats

// A Quantity is one sum in a row.
type Quantity uint8

// The quantities. Those of switches are kept for every watched thread; the others while somebody needs them ([Keeper.Need]). What lasts until
// a thread is woken has its wait for a processor in it while nobody does.
const (
	OffCPU            Quantity = iota // ns off the processor, for whatever reason; what the hypervisor or interrupts took (Stolen) is among it, from the next switch on
	RunQueueWait                      // ns in which it could have run and another thread did
	BlockedFutex                      // ns until woken, waiting in futex
	BlockedFile                       // ns until woken, in a call on a file, directory or block device, or on a path
	BlockedSocket                     // ns until woken, in a call on a socket
	BlockedPipe                       // ns until woken, in a call on a pipe
	BlockedPoll                       // ns until woken, in epoll_wait, poll, select
	BlockedSleep                      // ns until woken, in nanosleep
	BlockedFault                      // ns until woken, in a page fault of the program's own code
	BlockedOther                      // ns until woken, anything else: children, signals, stopped, terminals, eventfd, io_uring
	Preempted                         // ns of RunQueueWait after a switch that the thread did not ask for
	VoluntarySwitches                 // times it left the processor to wait
	ForcedSwitches                    // times it left the processor and could have gone on
	MinorFaults                       // page faults without input; up to date at each switch, while needed at each fault
	MajorFaults                       // page faults with input; likewise
	FaultTime                         // ns in page faults, waiting included
	SystemTime                        // ns in system calls, without what it was off the processor in them
	BlockBytes                        // bytes that it had fetched from block devices or made dirty in a file; up to date at each switch, while needed at each call's end
	BlockTime                         // ns until woken, waiting for input or output of a block device (what iostat calls iowait)
	NetBytesSent                      // bytes given to sockets
	NetBytesReceived                  // bytes taken from sockets
	SystemCalls                       // system calls entered
	CallsFutex                        // of them futex
	CallsIO                           // of them on descriptors: reading, writing, waiting for them
	CallsMemory                       // of them mmap, munmap, brk, madvise and the like
	Stolen                            // ns in which a processor that it was on had been taken away by the hypervisor, or by interrupts where the kernel counts them apart; known at the next switch
	quantityCount
)

// A need names the programs that a quantity takes beside those of switches.
type need uint8

const (
	needNothing need = iota
	needFaults
	needCalls
	needNet
	needAccount
	needWakeups
	needCount
)

var quantities = [quantityCount]struct {
	name  string
	nanos bool
	need  need
}{
	OffCPU:            {"off_cpu", true, needNothing},
	RunQueueWait:      {"run_queue_wait", true, needWakeups},
	BlockedFutex:      {"blocked_futex", true, needWakeups},
	BlockedFile:       {"blocked_file", true, needWakeups},
	BlockedSocket:     {"blocked_socket", true, needWakeups},
	BlockedPipe:       {"blocked_pipe", true, needWakeups},
	BlockedPoll:       {"blocked_poll", true, needWakeups},
	BlockedSleep:      {"blocked_sleep", true, needWakeups},
	BlockedFault:      {"blocked_fault", true, needWakeups},
	BlockedOther:      {"blocked_other", true, needWakeups},
	Preempted:         {"preempted", true, needNothing},
	VoluntarySwitches: {"voluntary_switches", false, needNothing},
	ForcedSwitches:    {"forced_switches", false, needNothing},
	MinorFaults:       {"minor_faults", false, needFaults},
	MajorFaults:       {"major_faults", false, needFaults},
	FaultTime:         {"fault_time", true, needFaults},
	SystemTime:        {"system_time", true, needCalls},
	BlockBytes:        {"io_block_bytes", false, needCalls},
	BlockTime:         {"io_block_time", true, needWakeups},
	NetBytesSent:      {"net_bytes_sent", false, needNet},
	NetBytesReceived:  {"net_bytes_received", false, needNet},
	SystemCalls:       {"system_calls", false, needCalls},
	CallsFutex:        {"calls_futex", false, needCalls},
	CallsIO:           {"calls_io", false, needCalls},
	CallsMemory:       {"calls_memory", false, needCalls},
	Stolen:            {"stolen", true, needNothing},
}

// Offset is where in a row the quantity's word is, in bytes.
func (q Quantity) Offset() int32 { return firstOff + 8*int32(q) }

// Name is what the quantity is called in kernel("...").
func (q Quantity) Name() string {
	if q >= quantityCount {
		return "unknown"
	}
	return quantities[q].name
}

// String is Name.
func (q Quantity) String() string { return q.Name() }

// Nanoseconds says whether the quantity is a time in ns, and not a number of something.
func (q Quantity) Nanoseconds() bool { return q < quantityCount && quantities[q].nanos }

// ByName finds a quantity.
func ByName(name string) (Quantity, bool) {
	for q := range quantityCount {
		if quantities[q].name == name {
			return q, true
		}
	}
	return 0, false
}

// Quantities lists all of them, in the order of their words.
func Quantities() []Quantity {
	all := make([]Quantity, 0, quantityCount)
	for q := range quantityCount {
		all = append(all, q)
	}
	return all
}
