package threadstats

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/cilium/ebpf/btf"
)

// A shape is where in the running kernel's structures the fields are that the programs read: byte offsets, from the kernel's own
// description of its types.
type shape struct {
	tgid, pid, flags, fsbase, ran   int16
	leader, startTime               int16
	files, fdt, maxFDs, fds         int16
	inode, mode, super, magic       int16
	origAX, di                      int16
	iowait                          int16 // the byte
	iowaitMask                      int32 // and the bit of it
	atCalls                         int16 // what is done at each system call, a word of bits
	onProcessor, state              int16
	counts                          [countedWords]int16
	hasIO, hasSockets, stateIsGiven bool
	hasIterator                     bool
	hasMayGoto                      bool   // as far as is known: loading finds out
	casts                           *casts // likewise; nil on kernels without them
}

// casts are the numbers, in the kernel's description of its types, of what turns an address into a pointer that programs may read
// through (bpf_rdonly_cast, Linux 6.2), and of the types that it is used for.
type casts struct {
	function, slot, file int32
}

// today uses what kernels of today have, if this one does not refuse it when programs are loaded.
func (s *shape) today() { s.hasMayGoto = true }

// anywhere leaves out what only they have.
func (s *shape) anywhere() { s.hasMayGoto, s.casts = false, nil }

// The words of a task that the kernel counts by itself, in the order in which a thread's last ones are remembered.
const (
	countVoluntary = iota
	countForced
	countMinor
	countMajor
	countRead
	countWrite
	countedWords
)

// counted says which quantity each counted word is added to.
var counted = [countedWords]Quantity{VoluntarySwitches, ForcedSwitches, MinorFaults, MajorFaults, BlockBytes, BlockBytes}

// readShape looks up the fields.
func readShape(types *btf.Cache) (*shape, error) {
	spec, err := types.Kernel()
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: a kernel with CONFIG_DEBUG_INFO_BTF=y has it", ErrNoBTF)
		}
		return nil, fmt.Errorf("%w: %v", ErrNoBTF, err)
	}
	l := lookup{spec: spec}
	s := &shape{
		tgid: l.field("task_struct", "tgid"), pid: l.field("task_struct", "pid"), flags: l.field("task_struct", "flags"),
		fsbase: l.field("task_struct", "thread", "fsbase"), ran: l.field("task_struct", "se", "sum_exec_runtime"),
		leader: l.field("task_struct", "group_leader"), startTime: l.field("task_struct", "start_time"),
		files: l.field("task_struct", "files"), fdt: l.field("files_struct", "fdt"),
		maxFDs: l.field("fdtable", "max_fds"), fds: l.field("fdtable", "fd"),
		inode: l.field("file", "f_inode"), mode: l.field("inode", "i_mode"), super: l.field("inode", "i_sb"),
		magic: l.field("super_block", "s_magic"), origAX: l.field("pt_regs", "orig_ax"), di: l.field("pt_regs", "di"),
	}
	s.onProcessor, s.state = l.field("task_struct", "on_cpu"), l.field("task_struct", "__state")
	for i, name := range []string{"nvcsw", "nivcsw", "min_flt", "maj_flt"} {
		s.counts[i] = l.field("task_struct", name)
	}
	bit := l.bits("task_struct", "in_iowait")
	s.atCalls = l.field("task_struct", "thread_info", "syscall_work")
	s.iowait, s.iowaitMask = int16(bit/8), 1<<(bit%8)
	if l.err != nil {
		return nil, l.err
	}
	s.optional(spec)
	return s, nil
}

// usable is the shape of a kernel that tells enough for rows.
func usable(types *btf.Cache) (*shape, error) {
	s, err := readShape(types)
	if err != nil {
		return nil, err
	}
	return s, s.unmet()
}

// unmet is what rows cannot do without.
func (s *shape) unmet() error {
	if !s.stateIsGiven {
		return unsupported("sched_switch does not tell the state of threads, which it does since Linux 5.18")
	}
	return nil
}

// optional looks for what only some kernels have.
func (s *shape) optional(spec *btf.Spec) {
	io := lookup{spec: spec}
	s.counts[countRead] = io.field("task_struct", "ioac", "read_bytes")
	s.counts[countWrite] = io.field("task_struct", "ioac", "write_bytes")
	s.hasIO = io.err == nil
	s.hasSockets = arguments(spec, "btf_trace_sock_send_length") > 0 && arguments(spec, "btf_trace_sock_recv_length") > 0
	s.stateIsGiven = arguments(spec, "btf_trace_sched_switch") >= 5
	s.casts = readCasts(spec)
	var iter *btf.Func
	s.hasIterator = spec.TypeByName("bpf_iter_task", &iter) == nil
}

// readCasts looks for what casts take; nil where the kernel has none.
func readCasts(spec *btf.Spec) *casts {
	var function *btf.Func
	var slot, file *btf.Struct
	if spec.TypeByName("bpf_rdonly_cast", &function) != nil || spec.TypeByName("file", &file) != nil {
		return nil
	}
	if spec.TypeByName("llist_node", &slot) != nil { // a pointer and nothing else, as a place in a table of files is
		return nil
	}
	c := &casts{}
	for to, t := range map[*int32]btf.Type{&c.function: function, &c.slot: slot, &c.file: file} {
		id, err := spec.TypeID(t)
		if err != nil {
			return nil
		}
		*to = int32(id)
	}
	return c
}

// arguments is how many arguments the handlers of a trace point take, with the one that is never passed on; 0 if there is none.
func arguments(spec *btf.Spec, name string) int {
	var def *btf.Typedef
	if spec.TypeByName(name, &def) != nil {
		return 0
	}
	if p, ok := def.Type.(*btf.Pointer); ok {
		if f, ok := p.Target.(*btf.FuncProto); ok {
			return len(f.Params)
		}
	}
	return 0
}

// A lookup finds fields and keeps the first error.
type lookup struct {
	spec *btf.Spec
	err  error
}

// field is the offset in bytes of a field that may lie in structures within the structure.
func (l *lookup) field(structure string, path ...string) int16 {
	return int16(l.bits(structure, path...) / 8)
}

// bits is the same in bits.
func (l *lookup) bits(structure string, path ...string) uint32 {
	var s *btf.Struct
	if err := l.spec.TypeByName(structure, &s); err != nil {
		l.fail(structure, err)
		return 0
	}
	total := uint32(0)
	members := s.Members
	for _, name := range path {
		m, off, ok := member(members, name, 0)
		if !ok {
			l.fail(structure+"."+name, errors.New("no such field"))
			return 0
		}
		total += off
		members = within(m.Type)
	}
	if total/8 > math.MaxInt16 {
		l.fail(structure, fmt.Errorf("field %v is %d bytes away", path, total/8))
		return 0
	}
	return total
}

func (l *lookup) fail(what string, err error) {
	if l.err == nil {
		l.err = unsupported("%s is not as expected: %v", what, err)
	}
}

// maxNesting bounds how deep structures without a name lie in each other.
const maxNesting = 8

// member finds a member by name, also in members without a name; the offset is in bits.
func member(list []btf.Member, name string, depth int) (btf.Member, uint32, bool) {
	for _, m := range list {
		if m.Name == name {
			return m, uint32(m.Offset), true
		}
		if m.Name == "" && depth < maxNesting {
			if in, off, ok := member(within(m.Type), name, depth+1); ok {
				return in, uint32(m.Offset) + off, true
			}
		}
	}
	return btf.Member{}, 0, false
}

func within(t btf.Type) []btf.Member {
	switch t := btf.UnderlyingType(t).(type) {
	case *btf.Struct:
		return t.Members
	case *btf.Union:
		return t.Members
	}
	return nil
}
