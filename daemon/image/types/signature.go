package types

import (
	"cmp"
	"debug/dwarf"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"culprit/daemon/image/debuginfo"
)

// A signature is what DWARF says of one function.
type signature struct {
	d        *dies
	lang     int64 // DW_AT_language
	name     string
	args     []argument
	result   *typeRef
	variadic bool
	external bool // other source files may call it, so it is called by the ABI
	changed  bool // the compiler says, or its name does, that it is called in a way of its own
	family   bool // it is written in a language that passes arguments by the ABI: C, C++
	plain    bool // nothing was optimised: every parameter has one place
}

// An argument is a parameter and where it is.
type argument struct {
	name string
	typ  *typeRef
	t    ctype
	loc  location
	passing
	refused string // why it cannot be read
}

// cFamily are the values of DW_AT_language for C, C++ and Objective-C (DWARF 5, 7.12, and later additions).
var cFamily = []int64{0x01, 0x02, 0x04, 0x0c, 0x10, 0x11, 0x1a, 0x1d, 0x21, 0x2a, 0x2b, 0x2c, 0x3a, 0x3e}

// clone matches names of copies that GCC has made with other parameters.
var clone = regexp.MustCompile(`\.(isra|constprop|part|simdclone)\b`)

// ofCopy is the error for a copy that GCC has made of which DWARF tells nothing: its name alone says that arguments may have moved.
func ofCopy(f Func, err error) error {
	var none *ErrNoTypes
	if errors.As(err, &none) && clone.MatchString(f.Linkage) {
		return movedAway(f.Name)
	}
	return err
}

func movedAway(function string) error {
	return &ErrNoValue{fmt.Sprintf("%s is a copy that the compiler has made, in which arguments were optimised away: their numbers are not those of the source", function)}
}

const noDwarf = "there is no DWARF of it: build it with -g (and without -gsplit-dwarf), or install its debug symbols"

// signature reads the parameters of a function.
func (x *Info) signature(f Func) (*signature, error) {
	u := x.dwarf.Units().At(f.Addr)
	if u == nil {
		return nil, &ErrNoTypes{noDwarf}
	}
	if u.Entry.Tag == dwarf.TagSkeletonUnit || u.Entry.Val(dwarf.AttrDwoName) != nil {
		return nil, &ErrNoTypes{"its types are in a .dwo file, which is not read: build it without -gsplit-dwarf"}
	}
	d := x.dies(maxEntries)
	if d == nil {
		return nil, &ErrNoTypes{"its DWARF is damaged"}
	}
	off, err := x.subprograms.find(x, u, f.Addr)
	if err != nil {
		return nil, err
	}
	if off == 0 {
		return nil, &ErrNoTypes{"DWARF does not describe it: it is a copy that the compiler has made, or of a library without debug symbols"}
	}
	lang, _ := u.Entry.Val(dwarf.AttrLanguage).(int64)
	if lang == debuginfo.LangAssembler {
		return nil, &ErrNoTypes{"it is written in assembly"}
	}
	s := &signature{d: d, lang: lang, name: f.Name, family: slices.Contains(cFamily, lang), changed: clone.MatchString(f.Linkage)}
	return s, s.read(x, u, f.Addr, off)
}

// subprogramCache keeps where the functions of units are described.
type subprogramCache struct {
	mu    sync.Mutex
	units map[dwarf.Offset]map[uint64]dwarf.Offset
	kept  int
}

// Bounds of the cache, and of the entries of one unit that are looked through for functions.
const (
	maxKeptSubprograms = 1 << 20
	maxUnitEntries     = 16 << 20
)

// find gives the entry of the function at an address, 0 if its unit describes none.
func (c *subprogramCache) find(x *Info, u *debuginfo.Unit, addr uint64) (dwarf.Offset, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, ok := c.units[u.Entry.Offset]
	if !ok {
		var err error
		m, err = x.dies(maxUnitEntries).subprogramsOf(u.Entry.Offset)
		if c.units == nil || c.kept > maxKeptSubprograms {
			c.units, c.kept = map[dwarf.Offset]map[uint64]dwarf.Offset{}, 0
		}
		c.units[u.Entry.Offset], c.kept = m, c.kept+len(m) // of a damaged unit, too: those before the damage, so that it is read once
		if err != nil {
			return 0, fmt.Errorf("DWARF of the unit %s: %w", u.Name(), err)
		}
	}
	return m[addr], nil
}

// subprogramsOf lists all functions of a unit that have code, at whatever depth: some lie in namespaces, some in other functions.
func (d *dies) subprogramsOf(root dwarf.Offset) (map[uint64]dwarf.Offset, error) {
	m := map[uint64]dwarf.Offset{}
	e, err := d.At(root)
	if err != nil || !e.Children {
		return m, err
	}
	for depth := 1; depth > 0; {
		e, err := d.Next()
		if err != nil {
			return m, err
		}
		if e.Tag == dwarf.TagSubprogram {
			for _, low := range d.Starts(e) {
				m[low] = e.Offset
			}
		}
		switch {
		case e.Tag == 0:
			depth--
		case !e.Children:
		case hasNoCode(e.Tag):
			if err := d.Skip(e); err != nil {
				return m, err
			}
		default:
			depth++
		}
	}
	return m, nil
}

// hasNoCode tells whether no function with code lies inside of an entry.
func hasNoCode(t dwarf.Tag) bool {
	return t == dwarf.TagEnumerationType || t == dwarf.TagSubroutineType || t == dwarf.TagArrayType || t == dwarf.TagInlinedSubroutine
}

// maxParams bounds the parameters of a function.
const maxParams = 256

func (d *dies) params(off dwarf.Offset) (list []*dwarf.Entry, variadic bool, err error) {
	err = d.Children(off, func(e *dwarf.Entry) bool {
		switch e.Tag {
		case dwarf.TagFormalParameter:
			list = append(list, e)
		case dwarf.TagUnspecifiedParameters:
			variadic = true
		}
		return len(list) < maxParams
	})
	if err == nil && len(list) == maxParams {
		err = errors.New("it has too many parameters")
	}
	return list, variadic, err
}

func (s *signature) read(x *Info, u *debuginfo.Unit, entry uint64, off dwarf.Offset) error {
	chain, err := s.d.Chain(off)
	if err != nil {
		return err
	}
	s.result = &typeRef{none: true}
	for i, e := range chain {
		if e.Val(dwarf.AttrType) != nil {
			s.result = typeRefOf(e)
		}
		ext, _ := e.Val(dwarf.AttrExternal).(bool)
		s.external = s.external || ext
		s.changed = s.changed || i == 0 && debuginfo.IntOf(e, dwarf.AttrCalling, 0) == noCall
	}
	l := x.lister(u, entry)
	base, _ := chain[0].Val(dwarf.AttrFrameBase).([]byte)
	l.byCFA = len(base) == 1 && base[0] == opCFA
	if err := s.readParams(l, chain); err != nil {
		return err
	}
	return s.placeAll()
}

// readParams takes the parameters in the order of the source, with the places that they have in this copy of the function.
func (s *signature) readParams(l *lister, chain []*dwarf.Entry) error {
	here, variadic, err := s.d.params(chain[0].Offset)
	if err != nil {
		return err
	}
	s.variadic, s.plain = variadic, true
	origin := here
	if _, ok := chain[0].Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); ok && len(chain) > 1 {
		if origin, s.variadic, err = s.d.params(chain[1].Offset); err != nil {
			return err
		}
	}
	for _, e := range origin {
		a := argument{name: debuginfo.NameOf(e), typ: typeRefOf(e)}
		own := ownParam(here, e)
		if own != nil {
			a.loc = l.at(own)
			if own != e && a.name == "" {
				a.name = debuginfo.NameOf(own)
			}
		}
		s.plain = s.plain && own != nil && !a.loc.list && a.loc.kind != locNone
		s.args = append(s.args, a)
	}
	return nil
}

// ownParam is the parameter of this copy of a function that stands for one of its origin; nil if it has none.
func ownParam(here []*dwarf.Entry, e *dwarf.Entry) *dwarf.Entry {
	for _, h := range here {
		if from, ok := h.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); h.Offset == e.Offset || ok && from == e.Offset {
			return h
		}
	}
	return nil
}

// placeAll finds where each argument is by the ABI, and by what DWARF says.
func (s *signature) placeAll() error {
	abi := errUnknownABI
	var c *caller
	if result, err := s.d.resolve(s.result); err == nil && s.family {
		c, abi = s.d.start(result)
	}
	for i := range s.args {
		a := &s.args[i]
		var err error
		if a.t, err = s.d.resolve(a.typ); err != nil {
			a.refused, abi = err.Error(), err
			continue
		}
		if abi == nil {
			a.passing, abi = c.pass(a.t, a.loc)
		}
		s.settle(a, abi == nil)
	}
	return nil
}

// settle decides where an argument is, or that it is not known. Where DWARF tells the register at the entry it must agree with the
// ABI in functions that anybody may call; in others the compiler may have its own ways.
func (s *signature) settle(a *argument, byABI bool) {
	if byABI && a.reg < 0 && a.stack == 0 && !a.floats {
		a.refused = "it is " + a.t.describe() + ", which is not passed at all"
		return
	}
	own := !byABI || s.changed || !s.external
	if a.loc.kind == locRegister && !a.pointer {
		reg, ok := argRegister[a.loc.n]
		agrees := byABI && ok && reg == a.reg && !a.floats
		floats := byABI && a.floats && a.loc.n >= firstXMM && a.loc.n < firstXMM+sseRegisters
		switch {
		case agrees || floats:
		case !own:
			a.refused = "DWARF and the ABI do not agree on where it is passed"
		case !ok:
			a.refused = "the compiler passes it in a register of its own choice"
		default:
			a.passing = passing{reg: reg, regs: 1}
		}
		s.refuseKinds(a)
		return
	}
	if a.loc.kind == locPointed && a.pointer {
		if reg, ok := argRegister[a.loc.n]; ok && reg != a.reg {
			a.refused = "DWARF and the ABI do not agree on where it is passed"
		}
		return
	}
	if a.loc.kind == locStack {
		switch at := a.loc.n + 8; {
		case byABI && at == a.stack:
		case own:
			a.passing = passing{reg: -1, stack: at}
		default:
			a.refused = "DWARF and the ABI do not agree on where it is passed"
		}
		s.refuseKinds(a)
		return
	}
	switch {
	case !byABI && !s.family:
		a.refused = "DWARF does not say where it is at the entry, and its language has its own ways to pass arguments"
	case !byABI:
		a.refused = "how it is passed is not known: an argument before it, or the result, has a type that is not known here"
	case s.changed || !s.external && !s.plain:
		a.refused = "the compiler has left it out or passes it in a way of its own: the function is optimised and only called in its own source file"
	}
	s.refuseKinds(a)
}

// refuseKinds refuses what is not in general registers or on the stack.
func (s *signature) refuseKinds(a *argument) {
	switch {
	case a.refused != "":
	case a.floats && a.t.kind == tRecord:
		a.refused = "it is " + a.t.describe() + ", passed by value in registers"
	case a.floats:
		a.refused = "it is " + a.t.describe() + ", which probes cannot read"
	}
}

// find is the argument that a path begins with.
func (s *signature) find(p ArgPath) (*argument, error) {
	var known []string
	for i := range s.args {
		a := &s.args[i]
		if p.Name != "" && a.name == p.Name || p.Name == "" && a.covers(p.Index) {
			return a, nil
		}
		if a.name != "" {
			known = append(known, a.name)
		}
	}
	if p.Name == "" {
		return nil, s.noIndex(p.Index)
	}
	return nil, &ErrNoSuch{What: "parameter", Name: p.Name, Of: s.name, Known: known}
}

func (s *signature) noIndex(i int) error {
	result, _ := s.d.resolve(s.result)
	switch {
	case s.changed && slices.ContainsFunc(s.args, func(a argument) bool { return a.refused != "" }):
		return movedAway(s.name)
	case s.variadic:
		return &ErrNoTypes{"it takes any number of arguments, of any type"}
	case i == 0 && result.kind == tRecord:
		return errors.New("it is where the function puts its result, " + result.describe())
	case slices.ContainsFunc(s.args, func(a argument) bool { return a.refused != "" && !a.floats }):
		return fmt.Errorf("none of the parameters of %s is known to be passed there", s.name)
	}
	none := &ErrNoSuch{What: "argument", Name: fmt.Sprint(i), Of: s.name}
	for i := range s.args {
		none.Known = append(none.Known, s.args[i].numbered())
	}
	return none
}

// numbered is the name of an argument with its number, if it has one.
func (a *argument) numbered() string {
	name := cmp.Or(a.name, "one without a name")
	switch {
	case a.reg >= 0 && a.regs > 0:
		return fmt.Sprintf("%s ($arg[%d])", name, a.reg)
	case a.floats:
		return name + " (floating-point, has no number)"
	}
	return name
}

// covers tells whether the argument is number i of those in general registers and on the stack.
func (a *argument) covers(i int) bool {
	switch {
	case a.reg >= 0 && a.regs > 0:
		return i >= a.reg && i < a.reg+a.regs
	case a.stack == 0 || i < argRegisters:
		return false
	}
	size := max(a.t.size, 1)
	if a.pointer {
		size = 8
	}
	at := int64(i-argRegisters)*8 + 8
	return at >= a.stack && at < a.stack+size
}

// begin stands at an argument.
func (s *signature) begin(a *argument) (*walk, error) {
	what := a.name
	if what == "" {
		what = "it"
	}
	if a.refused != "" && s.changed {
		return nil, &ErrNoValue{fmt.Sprintf("%s was optimised away, or is passed in a way of the compiler's own: %s is a copy of the function for some of its calls", what, s.name)}
	}
	if a.refused != "" {
		return nil, fmt.Errorf("%s cannot be read: %s", what, a.refused)
	}
	w := &walk{d: s.d, what: what, t: a.t, place: ArgPlace{Register: a.reg}}
	switch {
	case a.stack != 0:
		w.place.Register, w.inMem, w.off = -1, true, a.stack
	case a.regs > 1 && a.t.kind != tRecord:
		return nil, fmt.Errorf("%s cannot be read: it is %s in two registers", what, a.t.describe())
	}
	if a.pointer {
		if w.inMem {
			w.place.Loads = append(w.place.Loads, ArgLoad{Offset: w.off, Size: 8})
		}
		w.inMem, w.off = true, 0
	}
	return w, nil
}
