package patch

import (
	"errors"
	"fmt"
	"sync/atomic"

	"culprit/daemon/process"
	"culprit/daemon/segment"
	"culprit/trampoline/planner"
)

// A Text is the text of one process, and what is written into it.
type Text struct {
	Config
	seg   *segment.Segment // nil while the process is only looked at
	sites map[uint64]*Site // by address of the first displaced instruction
	own   map[uint64]bool  // pages of text that are the process's own copy already
	purse purse            // what is left of its memory

	quarantine  []retired
	retirements int
	leaving     []leaving

	ever    bool    // something was patched
	writing bool    // a batch changes the text
	unsure  bool    // a batch ended before it could tell how far it came
	fallen  []*Site // hold the bytes of the file again, to be patched again
}

// A Config is what a Text is made with.
type Config struct {
	Proc  *process.Process
	Host  Host
	Name  string       // of the process, for errors
	Log   func(string) // is told what went wrong without ending anything
	Scale func() int32 // turns ticks of the processor's clock into time: see trampoline.ScaleOf
	Count *Count       // of this and other texts
}

// A Count says how many sites were patched and given their old bytes back.
// Any goroutine may read it.
type Count struct{ Inserted, Removed atomic.Int64 }

// A Host is what a Text asks of who has the process.
type Host interface {
	// Stop runs f while every thread of the process is stopped. f may be run again if it fails.
	Stop(f func(*process.World) error) error
	// StopOnce is Stop with one try, for as long as a stop may take at all.
	StopOnce(f func(*process.World) error) error
	// Missing is an error if something was asked for in the stop that is under way that could not be told: what was found out is not to be believed.
	Missing() error
	// Going picks, in the stopped process, what of the mappings of a segment is to be unmapped, in order: some may have to stay.
	Going(w *process.World, ours []process.Mapping) []process.Mapping
	// Standing reports for which spans some thread of the stopped process may go on inside, by their owners, and which.
	Standing(w *process.World, spans []Span) (tids map[int]int, err error)
	// ModuleAt is the file that is mapped at an address; nil if none that is known is.
	ModuleAt(addr uint64) Module
	// Mapped reports whether the text of modules is where it was found.
	Mapped(w *process.World, modules []Module) (bool, error)
	// FileBytes are what the file has for n bytes of the text; nil if that is not known.
	FileBytes(addr uint64, n int) []byte
	// Refresh finds out anew what the process maps.
	Refresh() error
	// Refuse tells, in the stopped process, why code may not be put in at one of these sites: a *SiteError, or another one if none may be.
	Refuse(sites []*Site) error
	// Leaves reports whether it can be known who may still be inside a trampoline: its memory is used again only then.
	Leaves() bool
	// Unloaded is told that an owner's code is gone from a module, whose old bytes are there again.
	Unloaded(owner Owner, m Module)
}

// A Module is a file of code as it is mapped into the process. Modules are compared.
type Module interface {
	Holds(addr uint64) bool
	// Resident reports whether it cannot be unloaded while the process runs.
	Resident() bool
}

// An Owner is somebody whose code runs at sites. Owners are compared.
type Owner any

// A Span is a range of addresses, both ends exclusive: Lo < pc < Hi.
type Span struct {
	Lo, Hi uint64
	Owner  int
}

// New makes the Text of a process in which nothing is patched.
func New(c Config) *Text {
	return &Text{Config: c, sites: map[uint64]*Site{}, own: map[uint64]bool{}}
}

// Use gives it the memory for trampolines.
func (t *Text) Use(s *segment.Segment) { t.seg = s }

// Ever reports whether anything was ever patched.
func (t *Text) Ever() bool { return t.ever }

// Unsure reports whether a batch ended before it could tell how far it came: what is in the text is known from the ledger alone.
func (t *Text) Unsure() bool { return t.unsure }

// ErrMoved says that code is not mapped where it was found.
var ErrMoved = errors.New("the target has unloaded the code")

// ErrInside says that a thread is in a trampoline, which must go.
var ErrInside = process.NewPassing("a thread is inside a trampoline and does not leave it; if the program is stopped, let it go on (kill -CONT), then try again")

// A BusyError says that a thread stands where bytes would change under it.
type BusyError struct {
	Site *Site
	TID  int
}

// Error says which, and where.
func (e *BusyError) Error() string {
	return fmt.Sprintf("thread %d stands inside the bytes to be replaced at %#x", e.TID, e.Site.Addr)
}

// A SiteError says what is wrong with one site.
type SiteError struct {
	Site *Site
	Err  error
}

// Error says what is wrong.
func (e *SiteError) Error() string { return e.Err.Error() }

// Unwrap is what is wrong.
func (e *SiteError) Unwrap() error { return e.Err }

// At names a place in the text.
func At(addr uint64) string { return "code at " + hex(addr) }

func hex(a uint64) string { return fmt.Sprintf("%#x", a) }

// Island finds the island for the code at an address, and makes one if those in reach are full, or if a library was loaded out of the reach
// of those that there are. nil if there is none.
func (t *Text) Island(addr uint64) *segment.CodeSpace {
	sp := t.seg.Space(addr)
	if sp != nil && sp.HasRoom() || t.Host.ModuleAt(addr) == nil {
		return sp
	}
	if err := t.seg.GrowCode(t.Host.Stop, addr); err != nil {
		t.Log(fmt.Sprintf("%s: %v", t.Name, err))
	}
	return t.seg.Space(addr)
}

// Reaches reports whether there is an island for the code at an address.
func (t *Text) Reaches(addr uint64) bool { return t.seg != nil && t.seg.Space(addr) != nil }

// WhyNoIsland tells why there is no island for the code at an address.
func (t *Text) WhyNoIsland(addr uint64) string {
	if t.seg != nil {
		if err := t.seg.WhyUnreachable(addr); err != nil {
			return err.Error()
		}
	}
	return "no room for trampolines within 2 GiB of it"
}

// Sites are all sites, patched or not, in no order.
func (t *Text) Sites() (sites []*Site) {
	for _, s := range t.sites {
		sites = append(sites, s)
	}
	return sites
}

// Patched are the sites that are in the text.
func (t *Text) Patched() (sites []*Site) {
	for _, s := range t.sites {
		if s.base != nil {
			sites = append(sites, s)
		}
	}
	return sites
}

// IsPatched reports whether the site at the place of a planned one is in the text.
func (t *Text) IsPatched(planned *planner.Site) bool {
	s := t.sites[planned.Addr]
	return s != nil && s.base != nil
}

// TakeOut takes everything out of the text that is known to be in.
func (t *Text) TakeOut(a Along) error {
	sites := t.Patched()
	for _, s := range sites {
		s.groups = nil
	}
	busy, err := t.Apply(sites, a)
	for _, e := range busy {
		err = errors.Join(err, e)
	}
	return err
}

// TakenOut notes that all old bytes are back, by way of the ledger.
func (t *Text) TakenOut() {
	for _, s := range t.Patched() {
		t.Count.Removed.Add(1)
		s.base = nil
	}
}

// Serve gives the site that serves a point, as it was planned. name is that of the function.
func (t *Text) Serve(planned *planner.Site, pt planner.Point, name string) (*Site, error) {
	s := t.sites[planned.Addr]
	if s == nil {
		s = &Site{Site: planned}
		t.sites[planned.Addr] = s
	}
	if s.Site != planned && !s.Serves(pt) { // functions may share code
		return nil, &process.Refused{Point: name + ": " + pt.Kind.String(), Reason: "its bytes serve another function"}
	}
	return s, nil
}

// Extend makes further points part of a plan, whose function has the body, and returns the new plan. Sites that nothing runs at may change for it.
func (t *Text) Extend(plan *planner.Plan, body *planner.Body, points []planner.Point) *planner.Plan {
	next, grown := plan.Extend(body, points, func(s *planner.Site) bool {
		own := t.sites[s.Addr]
		return own != nil && own.Site == s && own.inUse()
	})
	for _, s := range plan.Sites {
		if own := t.sites[s.Addr]; own != nil && own.Site == s && !own.inUse() {
			delete(t.sites, s.Addr)
		}
	}
	for _, s := range grown {
		t.sites[s.Addr].grown()
	}
	return next
}

// Uses reports whether a site of a plan is patched, or about to be.
func (t *Text) Uses(plan *planner.Plan) bool {
	for _, s := range plan.Sites {
		if own := t.sites[s.Addr]; own != nil && own.Site == s {
			return true
		}
	}
	return false
}

// ForgetEmpty forgets the sites at which nothing runs: they may be planned anew.
func (t *Text) ForgetEmpty() {
	for addr, s := range t.sites {
		if s.base == nil && s.Empty() {
			delete(t.sites, addr)
		}
	}
}

// Original leads an address in a trampoline, or in a stub, back to the instruction that a thread there was about to do; pushed is how much of the
// stack the trampoline has taken. ok is false for other addresses, and where that is not known.
func (t *Text) Original(pc uint64) (orig uint64, pushed int, ok bool) {
	for _, s := range t.sites {
		if orig, ok := s.outOfStub(pc); ok {
			return orig, 0, true
		}
		if s.base == nil || pc < s.baseAddr || pc >= s.baseAddr+uint64(s.base.Size) {
			continue
		}
		sp, ok := s.base.SpanAt(int(pc - s.baseAddr))
		return sp.Orig, int(sp.Pushed), ok
	}
	return 0, 0, false
}
