package daemon

import (
	"errors"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"culprit/daemon/image"
	"culprit/daemon/process"
	"culprit/daemon/segment"
	"culprit/daemon/threads"
	"culprit/grid"
	"culprit/pcl"
	"culprit/trampoline"
	"culprit/trampoline/x86"
)

// A target is one process that is measured.
type target struct {
	d    *Daemon
	proc *process.Process
	exe  string
	name string // element of the Process hierarchy: "redis-server{4242}"
	seg  *segment.Segment

	objects     []*object // in order of load address
	vdso        process.Mapping
	loads       int                      // objects that were ever found
	size        uint64                   // of its memory when that was last looked at, in bytes
	funcs       map[pcl.FuncID]*function // those that somebody has asked for: see know
	changes     int                      // how often objects came or went
	items       *itemIndex               // nil until it is asked for
	itemsOf     int                      // changes when it was made
	found       finder
	meant       dictionary
	landings    landings
	sites       map[uint64]*site // by address of the first displaced instruction
	kept        kernelRows
	quota       quota
	quarantine  []retired
	retirements int
	leaving     []leavingCells
	ownPages    map[uint64]bool // pages of text that are the target's own copy already
	purse       purse           // what is left of its memory
	cells       segment.Cells
	threads     *threads.Table
	locks       *objectTable
	files       *fileTable
	profile     *profile
	sampled     *strata // of a target that is only looked at; else nil
	ended       bool
	settled     bool // it has ended, and its last values were taken
	child       bool // it was started by a target, and came by that
	times       childTimes
	joinedAt    float64    // session time
	endedAt     float64    // session time at which its end was seen
	incomplete  time.Time  // when it was last tried to measure there what is measured of the others, and not all could be
	rank        *grid.Rank // in a job of MPI; nil if it is not part of one
	seat        int        // its place in the order of attaching
	stops       int        // how often it was stopped by us
	detached    bool
	writing     bool                     // a batch changes the text
	unreadable  map[fileKey]int          // files of code that could not be read, and how often
	notCode     map[process.Addr]fileKey // mappings that hold no code where their file says
	manyObjects sync.Once                // said that there are too many files
	unsure      bool                     // a batch ended before it could tell how far it came
	fallen      []*site                  // hold the bytes of the file again, to be patched again
	lossy       bool                     // some thread found no block of its own
	peered      bool                     // processes were seen that run on its memory
	keyless     int                      // a thread that has set its thread pointer to 0, 0 = none was seen
	sequences   []image.Range            // restartable sequences that no file tells of
	seccomp     int                      // mode of the target: 0 none, 1 strict, 2 filter
	contexts    contexts
	view        *view   // of the stop that is under way; nil if none is
	seenLast    *view   // of the stop that was last, until all was learnt from it
	walked      walkLog // of the stop before
	goKnown     int     // objects with Go code of which the user was told
}

// An object is an ELF file as it is mapped into a target.
type object struct {
	*image.Object
	name   string
	path   string
	key    fileKey
	text   uint64 // where its executable mapping begins
	lo, hi uint64
	bias   uint64
	twins  *twinPlans // nil of a file that is only looked at
	parks  bool       // contexts may be parked at any of its instructions
	stays  bool       // it cannot be unloaded while the target runs

	padMu     sync.Mutex
	padsTaken map[uint64]bool // by end of the padding
}

// A function is a function of a target at its address there. Its code is decoded when it is first needed.
type function struct {
	id  pcl.FuncID // the address of its entry in the target
	obj *object
	fn  *image.Function

	once     sync.Once
	analysed atomic.Bool
	flow     *image.Flow
	plan     *trampoline.Plan
	points   map[pcl.Where][]trampoline.Point
	reason   string // why it cannot be instrumented at all

	calls   []pcl.FuncID // callees of its direct calls and tail calls
	callsAt int          // changes of the target when they were found, 0 = never
	learnt  []pcl.FuncID // callees of its indirect calls that a probe saw

	looked  bool // for loops
	loops   []image.Loop
	noLoops string // why they are not known

	rate   float64 // calls per second when last measured
	rateAt float64 // session time of that, 0 = never

	// what DWARF says of what it returns and of the arguments in registers; nil = not asked yet
	result *knownResult
	args   [6]*knownArg
}

func (f *function) addr() uint64 { return uint64(f.id) }

// names are all that the function is called.
func (f *function) names() []string {
	return append([]string{f.fn.Name, f.fn.Linkage}, f.fn.Aliases...)
}

// analyse decodes the function and plans every point of it.
func (f *function) analyse() {
	if !f.analysed.Load() && image.InStop("the plan of "+f.fn.Name, f.analyse) {
		return
	}
	f.once.Do(func() {
		defer f.analysed.Store(true)
		if f.reason = f.fn.Refuse; f.reason != "" {
			return
		}
		if f.obj.IsGoCode(f.fn) {
			f.reason = whyGo
			f.flow, _ = f.obj.BriefFlow(f.fn) // whom it calls can be told all the same
			return
		}
		if !f.obj.parks && f.likeTwin() {
			return
		}
		flow, err := f.obj.Flow(f.fn)
		if err != nil {
			f.reason = err.Error()
			return
		}
		f.flow = flow
		if err := planning(func() { f.plan = trampoline.MakePlan(f.body(flow), f.firstPoints()) }); err != nil {
			f.reason = err.Error()
			return
		}
		if !f.obj.parks {
			f.obj.twins.keep(f.fn, f.plan)
		}
		f.flow, _ = f.obj.BriefFlow(f.fn) // the instructions are decoded again in the rare case that they are asked for
		flow.Release()
	})
}

// likeTwin takes over what was planned for the same code at the same address in another target; false if it has to be planned here.
func (f *function) likeTwin() bool {
	plan := f.obj.twins.of(f.fn)
	if plan == nil || !f.obj.takePads(plan) {
		return false
	}
	f.plan = plan
	f.flow, _ = f.obj.BriefFlow(f.fn)
	f.firstPoints()
	return true
}

// brief is where the function calls and leaves; nil if it is refused. Nothing is planned: most functions that the search goes through are
// never instrumented.
func (f *function) brief() *image.Flow {
	if f.fn.Refuse != "" {
		return nil
	}
	flow, err := f.obj.BriefFlow(f.fn)
	if err != nil {
		return nil
	}
	return flow
}

// firstPoints are entries and exits. Calls and loops are planned when somebody asks for them, with what room is left.
func (f *function) firstPoints() []trampoline.Point {
	f.points = map[pcl.Where][]trampoline.Point{}
	pts := []trampoline.Point{{Kind: trampoline.FuncEntry, Addr: f.addr()}}
	f.points[pcl.Entry] = pts[:1:1]
	for _, e := range f.flow.Exits {
		pts = append(pts, trampoline.Point{Kind: exitKind(e.Kind), Addr: e.Addr + f.obj.bias})
	}
	f.points[pcl.Return] = pts[1:len(pts):len(pts)]
	return pts
}

// planCalls makes the points around all calls of a function part of its plan. d.mu is held.
func (t *target) planCalls(f *function) {
	if f.points[pcl.Call] != nil || len(f.flow.Calls) == 0 {
		return
	}
	var pts []trampoline.Point
	for _, c := range f.flow.Calls {
		pts = append(pts, trampoline.Point{Kind: trampoline.CallPre, Addr: c.Addr + f.obj.bias},
			trampoline.Point{Kind: trampoline.CallPost, Addr: c.Ret + f.obj.bias})
	}
	f.points[pcl.Call] = pts
	t.extendPlan(f, pts)
}

func exitKind(k image.ExitKind) trampoline.PointKind {
	switch k {
	case image.ExitTailJump:
		return trampoline.TailJump
	case image.ExitTailCond:
		return trampoline.TailCond
	case image.ExitTailInd:
		return trampoline.TailInd
	}
	return trampoline.Ret
}

// whole is the flow with all instructions.
func (f *function) whole() *image.Flow {
	w, err := f.obj.Flow(f.fn)
	if err != nil { // the file cannot be read any more
		return &image.Flow{Hidden: err.Error()}
	}
	return w
}

// An unreadable is what ends the planning of a function whose code cannot be read any more: somebody has cut its file short since it was
// decoded.
type unreadable struct{ error }

// planning runs what plans with the code of a body.
func planning(plan func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case unreadable:
			err = r.error
		default:
			panic(r)
		}
	}()
	plan()
	return nil
}

// body moves the function's code to where it is in the target. The instructions of w change; it is used for nothing else.
func (f *function) body(w *image.Flow) *trampoline.Body {
	b := f.obj.bias
	insts := w.Insts
	for i := range insts {
		in := &insts[i]
		in.Addr += b
		if in.Target != 0 {
			in.Target += b
		}
		if in.RIPOff != 0 {
			in.RIPTarget += b
		}
	}
	body := &trampoline.Body{
		Insts: insts,
		Bytes: func(addr uint64, n int) []byte {
			code, err := f.obj.Code(addr-b, addr-b+uint64(n))
			if err != nil {
				panic(unreadable{err})
			}
			return code
		},
		Target:    func(addr uint64) bool { return f.flow.Targets.Has(addr - b) },
		PadEnd:    func(addr uint64) uint64 { return f.obj.PadEnd(addr-b) + b },
		Pads:      f.obj.padsNear,
		Elsewhere: f.obj.firstAt,
		Bound:     func(lo, hi uint64) string { return f.obj.Stays(f.flow, lo-b, hi-b) },
		Hidden:    f.flow.Hidden,
		Go:        f.obj.IsGo(),
		Stay:      x86.FaultDivide,
	}
	if f.obj.FaultsAsked(f.fn, f.flow) {
		body.Stay |= x86.FaultMemory
	}
	if f.obj.parks {
		body.Pads = nil
		if body.Hidden == "" {
			body.Hidden = whyOneInstruction
		}
	}
	return body
}

// firstAt decodes the first instructions at an address in the target, as many as one may have to look at there.
func (o *object) firstAt(addr uint64) (insts []x86.Inst, code []byte) {
	at := addr - o.bias
	for end := at; len(insts) < x86.MostExpects; {
		b, err := o.Code(end, end+x86.MaxLen)
		if err != nil {
			break
		}
		in, err := x86.Decode(b, end+o.bias)
		if err != nil {
			break
		}
		insts, end = append(insts, in), end+uint64(in.Len)
		code = append(code, b[:in.Len]...)
		if in.Flow != x86.FlowNext {
			break
		}
	}
	return insts, code
}

// A short jump reaches 127 bytes; a long jump takes 5. The first 4 bytes of any padding are left to the instruction before
// it, whose own jump may need them.
const (
	shortReach = 127
	padJump    = 5
	padSpared  = 4
)

// padsNear lists places in the padding between functions that a short jump at addr reaches and nobody uses, and reserves
// them: a plan, once made, holds for good.
func (o *object) padsNear(addr uint64) (pads []trampoline.Pad) {
	o.padMu.Lock()
	defer o.padMu.Unlock()
	fns := o.Functions()
	at := addr - o.bias
	i := sort.Search(len(fns), func(i int) bool { return fns[i].Addr+fns[i].Size > at-min(at, shortReach+padJump) })
	for ; i < len(fns) && fns[i].Addr < at+shortReach; i++ {
		end := fns[i].Addr + fns[i].Size
		pad := o.PadEnd(end)
		if pad < end+padSpared+padJump {
			continue
		}
		d := int64(pad-padJump) - int64(at+2)
		if d < -128 || d > shortReach || o.padsTaken[pad] || (pad-padJump)/trampoline.PageSize != (pad-1)/trampoline.PageSize {
			continue
		}
		o.takePad(pad)
		return []trampoline.Pad{{Addr: pad - padJump + o.bias, Len: padJump}}
	}
	return nil
}

// takePad reserves the padding that ends somewhere. o.padMu is held.
func (o *object) takePad(end uint64) {
	if o.padsTaken == nil {
		o.padsTaken = map[uint64]bool{}
	}
	o.padsTaken[end] = true
}

// openTarget looks at a process without touching it: its objects and functions.
func openTarget(d *Daemon, pid int, open func(pid int) (*process.Process, error)) (*target, error) {
	p, err := open(pid)
	if err != nil {
		return nil, err
	}
	exe, _ := p.Exe()
	t := &target{d: d, proc: p, exe: exe, sites: map[uint64]*site{}, ownPages: map[uint64]bool{}, funcs: map[pcl.FuncID]*function{}, unreadable: map[fileKey]int{}}
	t.cells.Init(trampoline.DefaultGeometry(1), nil)
	p.ProveSpent(t.fourthIsSpent)
	if err := t.loadObjects(); err != nil {
		t.close()
		return nil, err
	}
	t.findResident()
	t.name = fmt.Sprintf("%s{%d}", t.main().name, pid)
	t.threads = threads.New(threads.Config{PID: pid, Name: t.name, Kernel: d.kern, Tree: d.tree, Memory: t.proc, IsSyscallFunction: t.isSyscallFunction})
	t.locks = newObjectTable(t)
	t.files = newFileTable(t)
	return t, nil
}

// maxObjects bounds the files of code that are read of one target. Large programs have some hundreds; each costs us a descriptor and
// takes time at the attach.
const maxObjects = 4096

// triesToRead is how often a file of code is tried that cannot be read: while it is being mapped that may change.
const triesToRead = 3

// loadObjects opens every file whose code is mapped and that is not known yet (at attach, and when dlopen brought more).
func (t *target) loadObjects() error {
	maps, err := t.proc.Maps()
	if err != nil {
		return err
	}
	t.unloadObjects(maps)
	t.noteVdso(maps)
	var firstErr error
	notCode := map[process.Addr]fileKey{}
	defer func() { t.notCode = notCode }()
	for i, m := range maps {
		key := fileKey{m.Dev, m.Inode}
		if !m.Executable() || m.Inode == 0 || t.objectAt(uint64(m.Start)) != nil || isSegment(m) || t.unreadable[key] >= triesToRead {
			continue
		}
		if t.notCode[m.Start] == key {
			notCode[m.Start] = key
			continue
		}
		if len(t.objects)+len(t.unreadable) >= maxObjects {
			t.manyObjects.Do(func() {
				t.d.logf("more than %d files of code are mapped: what is in the others is not measured", maxObjects)
			})
			break
		}
		err := t.loadObject(maps, i)
		switch {
		case errors.Is(err, errNotCode):
			notCode[m.Start] = key
		case err != nil:
			t.unreadable[key]++
			if firstErr == nil {
				firstErr = err
			}
		}
	}
	if len(t.objects) == 0 {
		if firstErr == nil {
			firstErr = fmt.Errorf("process %d maps no executable file", t.proc.PID())
		}
		return firstErr
	}
	return nil
}

func isSegment(m process.Mapping) bool { return len(m.Path) >= 7 && m.Path[:7] == "/memfd:" }

// loadObject opens the file of an executable mapping and finds where it was loaded.
func (t *target) loadObject(maps []process.Mapping, i int) error {
	m := maps[i]
	key := fileKey{m.Dev, m.Inode}
	img, err := t.d.images.open(t.proc, m, key)
	if err != nil {
		t.d.logf("%s: %v", m.Path, err)
		return err
	}
	o := &object{Object: img, name: t.d.images.name(t.proc, m), path: m.Path, key: key, text: uint64(m.Start), lo: uint64(m.Start), hi: uint64(m.End)}
	if !o.place(m) {
		t.d.logf("%s is mapped at %v, but no code of the file begins there: what runs there is not measured", m.Path, m.Start)
		return errNotCode
	}
	o.extend(maps)
	o.twins, o.parks = t.d.images.join(o), t.contexts.why != ""
	t.loads++
	t.changes++
	t.objects = append(t.objects, o)
	sort.Slice(t.objects, func(a, b int) bool { return t.objects[a].lo < t.objects[b].lo })
	return nil
}

var errNotCode = errors.New("no segment of code is mapped there")

// place works out how far the object lies from the addresses in its file; false if m maps none of the file's code at the right distance.
func (o *object) place(m process.Mapping) bool {
	for _, s := range o.Segments() {
		if off := uint64(m.Offset) - s.Off&^pageMask; s.Exec && uint64(m.Offset) >= s.Off&^pageMask && off < s.FileSize {
			o.bias = uint64(m.Start) - off - s.Vaddr&^pageMask
			return true
		}
	}
	return false
}

// extend takes the other mappings of the object in. The same file may be mapped elsewhere too, by a program that reads its own symbols or
// that has loaded a library a second time (dlmopen): those are others.
func (o *object) extend(maps []process.Mapping) {
	lo, hi := ^uint64(0), uint64(0)
	for _, s := range o.Segments() {
		lo, hi = min(lo, o.bias+s.Vaddr&^pageMask), max(hi, o.bias+(s.Vaddr+s.MemSize+pageMask)&^pageMask)
	}
	for _, n := range maps {
		if n.Inode == o.key.inode && n.Dev == o.key.dev && uint64(n.Start) >= lo && uint64(n.End) <= hi {
			o.lo, o.hi = min(o.lo, uint64(n.Start)), max(o.hi, uint64(n.End))
		}
	}
}

// main is the executable, as opposed to its libraries.
func (t *target) main() *object {
	for _, o := range t.objects {
		if o.path == t.exe {
			return o
		}
	}
	return t.objects[0]
}

// holds reports whether an address lies in the object.
func (o *object) holds(addr uint64) bool { return addr >= o.lo && addr < o.hi }

// objectAt finds the object that maps an address.
func (t *target) objectAt(addr uint64) *object {
	i := sort.Search(len(t.objects), func(i int) bool { return t.objects[i].hi > addr })
	if i < len(t.objects) && t.objects[i].holds(addr) {
		return t.objects[i]
	}
	return nil
}

// functionAt finds the function that covers an address.
func (t *target) functionAt(addr uint64) *function {
	o := t.objectAt(addr)
	if o == nil {
		return nil
	}
	fn := o.FunctionAt(addr - o.bias)
	if fn == nil {
		return nil
	}
	for _, id := range t.know(o, []*image.Function{fn}) {
		return t.funcs[id]
	}
	return nil
}

func (t *target) close() {
	if t.profile != nil {
		t.profile.close()
	}
	if t.d.kern != nil && t.d.byPID[t.proc.PID()] == t {
		t.d.kern.Forget(t.proc.PID())
	}
	for _, o := range t.objects {
		t.d.images.leave(o)
	}
	t.closeRows()
	if t.seg != nil {
		t.seg.Close()
	}
	t.proc.Close()
}

func baseName(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '/' {
			return path[i+1:]
		}
	}
	return path
}
