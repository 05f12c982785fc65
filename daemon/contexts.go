package daemon

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"culprit/daemon/arch"
	"culprit/daemon/image"
	"culprit/daemon/libc"
	"culprit/daemon/patch"
	"culprit/daemon/process"
	"culprit/daemon/program"
	"culprit/daemon/segment"
	"culprit/daemon/stack"
	"culprit/grid"
	"culprit/trampoline/planner"
)

// Programs that schedule their own contexts. A context that does not run has its PC in memory of the program's, where we do not find it. One
// that left by a call is no danger: it goes on behind that call, and no call is ever moved, nor anything that something may jump
// to; so coroutines that leave where they say so (swapcontext, Boost.Context, fibers of PHP and Ruby, OpenSSL's ASYNC jobs) are patched as
// any code. But where a signal's handler leaves for another context, the context that it interrupted goes on at any instruction: in
// the middle of a jump that was written meanwhile, or in a trampoline that was freed. Therefore in such a program
//   - a jump takes the place of one instruction only, which is done or not;
//   - no long jump is put into padding, from where it would be taken away while somebody is on the way to it;
//   - no trampoline is freed before the program ends, and the memory of trampolines stays when the probes are taken out.
//
// What tells such a program:
//   - a handler that is installed leads by direct calls to a function that leaves for another stack, by its name. That a library has or
//     imports such a function tells nothing: libcrypto does, and with it every server that speaks TLS;
//   - a thread is stopped on a stack that is not its own, and some handler is not so simple that it plainly comes back: it calls
//     something, or is told where the signal came. This finds contexts that are exchanged by code without a name, such as a handler that
//     exchanges the registers which the kernel has saved for it.

// whyOneInstruction is why a point has no way in a program that schedules its own contexts; what told it stands before it.
const whyOneInstruction = "contexts that a signal takes off may go on at any instruction, so only single instructions are replaced"

// contexts is what is known of a target's own contexts.
type contexts struct {
	why      string             // they may be parked at any instruction; "" if there is no sign of it
	foreign  int                // thread that was on a stack that is not its own before handlers could be looked at; 0 = none
	looked   bool               // handlers were looked at, or there was no need
	left     bool               // windows that were there when that was found are gone
	stacks   map[int]ownedStack // by thread
	caught   uint64             // signals that had a handler when handlers were last looked at
	loads    int                // objects that had been found then
	stayed   bool               // memory of an earlier session is there to stay
	verdicts verdicts           // on handlers
}

// An ownedStack is where a thread's stack pointer is as long as it runs on its own stack: below the thread's control block in the mapping
// of that, where C libraries put it, or in the stack that the kernel has made for the first thread.
type ownedStack struct{ lo, hi, fs uint64 }

// ownStack is the stack of a thread.
func ownStack(th *process.Stopped, leader bool, maps []process.Mapping) (s ownedStack) {
	s.fs = arch.ThreadPointer(&th.Regs)
	for _, m := range maps {
		switch {
		case leader && m.Path == "[stack]":
			return ownedStack{uint64(m.Start), uint64(m.End), s.fs}
		case !leader && m.Contains(process.Addr(s.fs)):
			return ownedStack{uint64(m.Start), s.fs, s.fs}
		}
	}
	return s
}

// nearBlock is how far below its control block a thread is on its own stack without a look at the mappings: no stack is smaller.
const nearBlock = 16 << 10

// nearTop is the part of a thread's stack right below its control block.
func nearTop(th *process.Stopped) ownedStack {
	fs := arch.ThreadPointer(&th.Regs)
	return ownedStack{fs - min(fs, nearBlock), fs, fs}
}

func (s ownedStack) holds(sp uint64) bool { return sp >= s.lo && sp < s.hi }

// lookAtStacks looks for a thread that runs on a stack which is not its own, as long as the program was not found to schedule contexts.
func (t *measured) lookAtStacks(w *process.World) error {
	c := &t.contexts
	if c.why != "" {
		return nil
	}
	tid := t.onForeignStack(w)
	if err := t.view.missing(); err != nil || tid == 0 {
		return err
	}
	if t.Seg == nil {
		c.foreign = tid // nothing is patched before handlers are looked at
		return nil
	}
	list, err := t.handlers(w)
	exchange := err != nil
	for _, h := range list {
		verdict, ok := t.verdict(h)
		if !ok {
			c.caught = 0 // nobody has seen yet what these handlers do
			return &unjudged{t, list}
		}
		exchange = exchange || verdict
	}
	if exchange {
		t.schedules(foreignStack(tid))
	}
	return nil
}

// verdicts are which handlers may leave for another context: their code is not looked at in a stop.
type verdicts struct {
	changes  int // of the objects of the target, then
	exchange map[handler]bool
}

// verdict is what was found out about a handler, if that was done.
func (t *measured) verdict(h handler) (exchange, ok bool) {
	if t.contexts.verdicts.changes != t.Version() {
		return false, false
	}
	exchange, ok = t.contexts.verdicts.exchange[h]
	return exchange, ok
}

// unjudged says that a stop has shown handlers whose code nobody has looked at yet.
type unjudged struct {
	t    *measured
	list []handler
}

// Error says so.
func (e *unjudged) Error() string {
	return "deferred: the code of the program's signal handlers has to be read first; all threads were resumed: try again"
}

// Make looks at their code.
func (e *unjudged) Make() {
	v := verdicts{e.t.Version(), map[handler]bool{}}
	for _, h := range e.list {
		v.exchange[h] = e.t.mayExchange([]handler{h})
	}
	e.t.contexts.verdicts = v
}

func foreignStack(tid int) string {
	return fmt.Sprintf("thread %d runs on a stack that is not its own, and there are signal handlers", tid)
}

// onForeignStack is a thread that runs on a stack which is not its own; 0 if there is none.
func (t *measured) onForeignStack(w *process.World) (tid int) {
	var maps []process.Mapping
	stacks := make(map[int]ownedStack, len(w.Threads()))
	for i, th := range w.Threads() {
		own, known := t.contexts.stacks[th.TID]
		if near := nearTop(th); !known && near.holds(arch.SP(&th.Regs)) {
			own, known = near, true
		}
		if !known || own.fs != arch.ThreadPointer(&th.Regs) || !own.holds(arch.SP(&th.Regs)) {
			if maps == nil {
				var err error
				if maps, err = w.Maps(); err != nil {
					return 0
				}
			}
			own = ownStack(th, th.TID == t.Proc.PID(), maps)
		}
		stacks[th.TID] = own
		if own.hi != 0 && !own.holds(arch.SP(&th.Regs)) && !t.comesBack(i, th, own) {
			tid = th.TID
		}
	}
	t.contexts.stacks = stacks
	return tid
}

// comesBack reports whether a thread, by its number, that is on another stack than its own is there for a while only: in a handler on a stack for signals,
// or in Go code, whose goroutines have stacks of their own and are not patched.
func (t *measured) comesBack(i int, th *process.Stopped, own ownedStack) bool {
	if o := t.ObjectAt(arch.PC(&th.Regs)); o != nil && o.IsGo() {
		return true
	}
	if at := stack.RegsOf(th); t.Seg != nil && t.Seg.Contains(at.RIP) && !t.detours().Leave(&at) {
		return true // in a trampoline that is being left, from where nothing can be told
	}
	return own.holds(t.view.walk(i).End)
}

// schedules notes that the program schedules its own contexts, for a reason. From now on no window of several instructions is written.
func (t *measured) schedules(why string) {
	t.contexts.why = why
	t.Logf("process %d schedules its own contexts (%s): %s, and trampolines stay in its memory until it ends", t.Proc.PID(), why, whyOneInstruction)
	for _, c := range t.plans {
		c.parks = true
	}
	t.sampleToo(whyOneInstruction)
	t.noteStays()
}

// outOfReach reports whether an entry or exit of a function cannot be patched.
func (t *measured) outOfReach(f *program.Function) bool {
	pl := t.planned(f)
	if pl.plan == nil {
		return true
	}
	for _, pts := range pl.points {
		for _, pt := range pts {
			if s, refusal := pl.plan.SiteOf(pt); refusal != nil || t.tooWide(s) != nil {
				return true
			}
		}
	}
	return false
}

// noteStays says in the head of the segment that it stays, for whoever comes after us.
func (t *measured) noteStays() {
	if t.Seg != nil && t.contexts.why != "" {
		t.Seg.SetStays(true)
	}
}

// catches is the set of signals that the target has a handler for, the C library's own two left out (bit n-1 of SigCgt in
// /proc/PID/status is signal n).
func (t *measured) catches() uint64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", t.Proc.PID()))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "\nSigCgt:")
	line, _, _ := strings.Cut(rest, "\n")
	set, _ := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
	return set &^ libc.OwnSignals
}

// maySwitch reports whether an object other than the C library has or imports a function that leaves for another stack.
func (t *measured) maySwitch() bool {
	for _, o := range t.Objects() {
		if !libc.IsC(o.Name) && o.MentionsSwitch() {
			return true
		}
	}
	return false
}

// handlersDue reports whether it is to be found out anew where the target's handlers lead: there are other handlers, or there is other code.
func (t *measured) handlersDue() bool {
	c := &t.contexts
	return c.why == "" && t.Seg != nil && (c.foreign != 0 || (c.loads != t.Loads() || c.caught != t.catches()) && t.maySwitch())
}

// kernelAction is the size of the kernel's struct sigaction: the handler, flags, where it returns to, a set of signals of sigsetSize bytes.
const (
	kernelAction = 32
	sigsetSize   = 8
)

// A handler is what a signal does.
type handler struct{ addr, flags uint64 }

// handlers asks the kernel for the handlers that the target has installed.
func (t *measured) handlers(w *process.World) (list []handler, err error) {
	c := &t.contexts
	c.caught, c.loads = t.catches(), t.Loads()
	at, mem := t.Seg.Scratch(kernelAction)
	for sig := uint64(1); sig <= 64; sig++ {
		if c.caught&(1<<(sig-1)) == 0 {
			continue
		}
		if _, err := w.Syscall(unix.SYS_RT_SIGACTION, sig, 0, at, sigsetSize); err != nil {
			return nil, err
		}
		var action [kernelAction]byte
		if err := w.ReadMem(process.Addr(at), action[:]); err != nil {
			return nil, err
		}
		list = append(list, handler{binary.LittleEndian.Uint64(action[:]), binary.LittleEndian.Uint64(action[8:])})
	}
	clear(mem)
	return list, nil
}

// lookAtHandlers finds out whether one of the target's handlers leaves for another context, as far as that is to be found out anew.
func (t *measured) lookAtHandlers() error {
	if !t.handlersDue() {
		return nil
	}
	var list []handler
	err := t.stop(func(w *process.World) (err error) {
		list, err = t.handlers(w)
		return err
	})
	c := &t.contexts
	tid := c.foreign
	c.foreign = 0
	switch {
	case c.why != "":
		return nil
	case tid != 0 && (err != nil || t.mayExchange(list)):
		t.schedules(foreignStack(tid))
	}
	for _, h := range list {
		if f := t.FunctionAt(h.addr); c.why == "" && f != nil && t.leadsToSwitch(f) {
			t.schedules("the handler " + f.Fn.Name + " leaves for another context")
		}
	}
	return err
}

// lookFirst is lookAtHandlers before anything is patched. What is not known then is taken for the worse.
func (t *measured) lookFirst() {
	t.contexts.looked = true
	if err := process.Patiently(t.lookAtHandlers); err != nil && t.contexts.why == "" && !t.Proc.Gone() {
		t.schedules(fmt.Sprintf("where its signal handlers lead cannot be told: %v", err))
	}
}

// saSiginfo is SA_SIGINFO: the handler is given the registers of what it interrupted.
const saSiginfo = 4

// mayExchange reports whether one of the handlers may leave for another context in a way that has no name: all but those do that call nothing,
// end by returning only, and are not given the registers.
func (t *measured) mayExchange(list []handler) bool {
	for _, h := range list {
		f := t.FunctionAt(h.addr)
		if f == nil || h.flags&saSiginfo != 0 {
			return true
		}
		w := f.Flow()
		if w == nil || w.Hidden != "" || len(w.Calls) > 0 || len(w.Exits) == 0 {
			return true
		}
		for _, x := range w.Exits {
			if x.Kind != image.ExitRet {
				return true
			}
		}
	}
	return false
}

// mostFromHandler bounds how many functions are looked at to find out where a handler leads.
const mostFromHandler = 256

// leadsToSwitch reports whether direct calls lead from a function to one that leaves for another stack.
func (t *measured) leadsToSwitch(f *program.Function) bool {
	seen := map[*program.Function]bool{f: true}
	for todo := []*program.Function{f}; len(todo) > 0 && len(seen) < mostFromHandler; todo = todo[1:] {
		f := todo[0]
		if f.Fn.Switches() {
			return true
		}
		w := f.Flow()
		if w == nil {
			continue
		}
		next := make([]*program.Function, 0, len(w.Calls)+len(w.Exits))
		for _, c := range w.Calls {
			if image.IsSwitcher(c.Import) {
				return true
			}
			next = append(next, t.Callee(f.Obj, c))
		}
		for _, x := range w.Exits {
			if x.Kind != image.ExitRet && x.Target != 0 {
				next = append(next, t.TailCallee(f.Obj, x))
			}
		}
		for _, g := range next {
			if g != nil && !seen[g] {
				seen[g] = true
				todo = append(todo, g)
			}
		}
	}
	return false
}

// wide reports whether more than one instruction of the text makes room for the site, or a long jump in padding leads to it.
func wide(s *planner.Site) bool {
	return len(s.Insts) > 1 || s.Host != nil && len(s.Host.Insts) > 1 || s.Tactic == planner.Short
}

// tooWide is why a site may not be patched in a program that schedules its own contexts; nil if it may.
func (t *measured) tooWide(s *planner.Site) error {
	if t.contexts.why == "" || !wide(s) {
		return nil
	}
	return &process.Refused{Point: patch.At(s.Addr), Reason: whyOneInstruction}
}

// checkWindows refuses to write a window that has become too wide since it was planned.
func (t *measured) checkWindows(sites []*patch.Site) error {
	for _, s := range sites {
		if s.Patched() {
			continue
		}
		if err := t.tooWide(s.Site); err != nil {
			return &patch.SiteError{Site: s, Err: err}
		}
	}
	return nil
}

// leaveWindows takes out the windows that were written before it was found that the program schedules its own contexts: who was parked
// in one before it was written finds there what he left. Its pairs are put in again where single instructions allow it.
func (d *Daemon) leaveWindows() {
	keys, sinks := d.inWindows()
	if len(keys) == 0 {
		return
	}
	d.Disable(keys)
	d.Settle()
	d.replan()
	for i, key := range keys {
		if r := d.Enable(keys[i:i+1], sinks[i]); r[0].Err != nil {
			d.logf("%s at %s is not measured any more: %v", key.Metric, key.Focus, r[0].Err)
		}
	}
}

// inWindows lists the pairs with probes in windows that must go, of targets where that has not been done.
func (d *Daemon) inWindows() (keys []grid.PairKey, sinks []grid.Sink) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := map[*measured]bool{}
	for _, t := range d.targets {
		if t.contexts.why != "" && !t.contexts.left && !t.ended {
			t.contexts.left, found[t] = true, true
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	for key, p := range d.pairs {
		if _, serves := plainKey(key); !serves && p.standsIn(found) {
			keys, sinks = append(keys, key), append(sinks, p.sink)
		}
	}
	return keys, sinks
}

// standsIn reports whether a pair, or the one that serves it, has a site that is too wide in one of these targets.
func (p *pair) standsIn(found map[*measured]bool) bool {
	parts := p.parts
	if p.keyed != nil {
		parts = append(parts[:len(parts):len(parts)], p.keyed.of.parts...)
	}
	for _, pt := range parts {
		for _, s := range pt.sites {
			if found[pt.t] && wide(s.Site) {
				return true
			}
		}
	}
	return false
}

// replan forgets the plans of functions in which nothing is patched, where windows must be narrower now.
func (d *Daemon) replan() {
	d.enabling.Lock()
	defer d.enabling.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range d.targets {
		if t.contexts.why == "" {
			continue
		}
		t.Text.ForgetEmpty()
		for _, c := range t.plans {
			for f, pl := range c.funcs {
				if pl.plan != nil && !t.Text.Uses(pl.plan) {
					delete(c.funcs, f)
				}
			}
		}
	}
}

// Memory that stays. Of a segment to which contexts may come back only the head with the ledger is unmapped: whatever is left of a segment
// without a head is there to stay. (Otherwise the head goes last.)

// stayed reports whether these mappings of ours are there to stay, and takes the word of who left them.
func (t *measured) stayed(ours []process.Mapping) bool {
	if !segment.Staying(ours) {
		return false
	}
	t.contexts.stayed = true
	t.schedules("an earlier culprit found so")
	return true
}

// mustGo picks what is to be unmapped, in order. A culprit that was killed may not have found out yet what the stacks say now.
func (t *measured) mustGo(w *process.World, ours []process.Mapping) (going []process.Mapping) {
	if len(ours) == 0 || segment.Staying(ours) {
		return nil
	}
	h, _, err := segment.HeaderIn(t.Proc, ours)
	stays := err == nil && h.Stays || t.Seg == nil && t.catches() != 0 && t.onForeignStack(w) != 0
	for _, m := range ours {
		if !stays && !segment.IsHead(m) {
			going = append(going, m)
		}
	}
	for _, m := range ours {
		if segment.IsHead(m) {
			going = append(going, m)
		}
	}
	return going
}

// leavesNothing says in the head, at the end, that nothing need stay, where nothing was ever patched.
func (t *measured) leavesNothing() {
	if t.Seg.Stays && !t.Text.Ever() && !t.contexts.stayed {
		t.Seg.SetStays(false)
	}
}
