package pcl

import (
	"maps"
	"slices"

	"culprit/grid"
	"culprit/pcl/syntax"
)

// A constraint of /IO compares a descriptor with what was chosen. Descriptors come and go: the same one stands for one file now and
// for another later, and one file may have several. So what is compared is the file behind the descriptor, and the functions that
// close or copy descriptors get code that keeps up with it.

// FileKinds are the types below /IO, by which what a descriptor stands for is told apart as well: the number of an open file is the type
// shifted by FileKindShift, with a number of its own in it if somebody asked for it.
var FileKinds = map[string]int64{"File": 1, "Socket": 2, "Pipe": 3}

// FileKindShift is how many bits the number of a file has below its type.
const FileKindShift = 28

// asFileKind compiles a comparison of a descriptor with $constraint[i] where that is a type of /IO; nil if it is none.
func (c *compiler) asFileKind(e *syntax.Expr) (*Expr, error) {
	fd, kind := e.X, e.Y
	if c.isFileKind(fd) {
		fd, kind = kind, fd
	}
	if e.Text != "==" && e.Text != "!=" || !c.isFileKind(kind) || c.isString(fd) {
		return nil, nil
	}
	v, err := c.eval(kind)
	if err != nil {
		return nil, err
	}
	x, err := c.lower(fd)
	if err != nil {
		return nil, err
	}
	of := &Expr{Op: ExDiv, L: &Expr{Op: ExFile, L: x}, R: &Expr{Op: ExConst, Value: 1 << FileKindShift}}
	return &Expr{Op: operatorOf[e.Text], L: of, R: &Expr{Op: ExConst, Value: FileKinds[v.s]}}, nil
}

// isFileKind tells whether an expression is $constraint[i] where that is a type of /IO.
func (c *compiler) isFileKind(e *syntax.Expr) bool { return c.choice(e) == tString }

// choice is what $constraint[i] is in a constraint of /IO; tBad for everything else.
func (c *compiler) choice(e *syntax.Expr) typ {
	if c.cons == nil || c.cons.hierarchy != grid.IO || e.Kind != syntax.Index || e.X.Text != "$constraint" {
		return tBad
	}
	i, ok := wholeNumber(e.Y)
	types := constraintTypes(c.cons)
	if !ok || i < 0 || int(i) >= len(types) {
		return tBad
	}
	return types[i]
}

// asFiles makes the side that is compared with $constraint[i], where that is something of /IO, the file of a descriptor.
func (c *compiler) asFiles(e *syntax.Expr, x, y *Expr) (*Expr, *Expr) {
	switch left, right := c.isOpenFile(e.X), c.isOpenFile(e.Y); {
	case left && !right:
		return x, &Expr{Op: ExFile, L: y}
	case right && !left:
		return &Expr{Op: ExFile, L: x}, y
	}
	return x, y
}

// isOpenFile tells whether an expression is $constraint[i] where that stands for a file, a socket or a pipe.
func (c *compiler) isOpenFile(e *syntax.Expr) bool { return c.choice(e) == tInt }

// UsesFiles reports whether the plan asks what descriptors stand for.
func (p *Plan) UsesFiles() bool {
	return slices.ContainsFunc(p.Requests, func(r Request) bool {
		return slices.ContainsFunc(r.Code, func(in Instr) bool { return in.Expr.usesFiles() || in.Cond.usesFiles() })
	})
}

// Reads reports whether the code of a request reads a variable.
func (r *Request) Reads(variable int) bool {
	return slices.ContainsFunc(r.Code, func(in Instr) bool { return in.Expr.reads(variable) || in.Cond.reads(variable) })
}

func (e *Expr) reads(variable int) bool {
	return e != nil && (e.Op == ExVar && e.Value == int64(variable) || e.L.reads(variable) || e.R.reads(variable) ||
		slices.ContainsFunc(e.Args, func(a *Expr) bool { return a.reads(variable) }))
}

func (e *Expr) usesFiles() bool {
	return e != nil && (e.Op == ExFile || e.L.usesFiles() || e.R.usesFiles() || slices.ContainsFunc(e.Args, (*Expr).usesFiles))
}

// descriptorEnds are the functions after whose entry a descriptor is no longer what it was: closed, or, where from is one of their
// arguments, another name for what that one stands for.
var descriptorEnds = []struct {
	name string
	fd   int64
	from int64 // -1: none
}{{"close", 0, -1}, {"__close", 0, -1}, {"__close_nocancel", 0, -1}, {"dup2", 1, 0}, {"dup3", 1, 0}}

// pathOpens are the functions that return a descriptor for a path, by which argument that is.
var pathOpens = []struct {
	name string
	path int64
}{{"open", 0}, {"open64", 0}, {"creat", 0}, {"creat64", 0}, {"__open_nocancel", 0}, {"__open64_nocancel", 0}, {"openat", 1}, {"openat64", 1}}

// The commands of fcntl that return a copy of a descriptor (fcntl(2)).
const (
	dupFD        = 0
	dupFDCloexec = 1030
)

// followFiles adds code to a plan that asks what descriptors stand for. What it does not see (descriptors that are opened for other
// names of a file, or closed by a system call of the program's own, or many at once) is seen by whoever keeps the table, later.
func (c *compiler) followFiles(x *matching) {
	if !c.plan.UsesFiles() {
		return
	}
	f := &follower{compiler: c, opened: c.newVar("$opened", Counter), spawning: c.newVar("$spawning", Counter)}
	f.spawns()
	for _, end := range descriptorEnds {
		var file *Expr
		if end.from >= 0 {
			file = &Expr{Op: ExFile, L: argument(end.from)}
		}
		f.at(end.name, Entry, f.renew(argument(end.fd), file))
	}
	f.copies()
	f.kinds()
	for _, elems := range c.chosenFiles(x) {
		f.opens(elems)
	}
}

func argument(i int64) *Expr { return &Expr{Op: ExArg, Value: i} }

// A follower adds requests to a plan. opened is the variable in which a thread keeps which file it opens or copies, spawning the one that
// says that it starts a child: until that is another program it runs here, as this thread, and closes descriptors of its own.
type follower struct {
	*compiler
	opened, spawning int
}

// spawns follows the functions that start children in such a way.
func (f *follower) spawns() {
	for _, name := range []string{"posix_spawn", "posix_spawnp"} {
		f.at(name, Entry, Instr{Op: OpSet, Var: f.spawning, Expr: &Expr{Op: ExConst, Value: 1}})
		f.at(name, Return, Instr{Op: OpSet, Var: f.spawning, Expr: &Expr{Op: ExConst}})
	}
}

// renew makes a descriptor stand for something else, unless it is a child's.
func (f *follower) renew(fd, file *Expr) Instr {
	own := &Expr{Op: ExEq, L: &Expr{Op: ExVar, Value: int64(f.spawning)}, R: &Expr{Op: ExConst}}
	return Instr{Op: OpCall, Expr: &Expr{Op: ExRenew, L: fd, R: file}, Cond: own}
}

func (f *follower) at(name string, where Where, code ...Instr) {
	for _, id := range unique(f.env.Named(name)) {
		r := Request{Func: id, Where: where, Code: code, Follows: true}
		if !slices.ContainsFunc(f.plan.Requests, func(o Request) bool { return o.Follows && sameRequest(&o, &r, f.plan) }) {
			f.plan.Requests = append(f.plan.Requests, r)
		}
	}
}

// sameRequest tells whether two requests do the same at the same place, as two names of one function give.
func sameRequest(a, b *Request, p *Plan) bool {
	return a.Func == b.Func && a.Where == b.Where && p.writer().request(a) == p.writer().request(b)
}

// gives has a function's return tell that what it returns stands for the file that its entry has noted.
func (f *follower) gives(name string) {
	opened := &Expr{Op: ExVar, Value: int64(f.opened)}
	f.at(name, Return, Instr{Op: OpCall, Cond: opened, Expr: &Expr{Op: ExRenew, L: &Expr{Op: ExReturn}, R: opened}},
		Instr{Op: OpSet, Var: f.opened, Expr: &Expr{Op: ExConst}})
}

// copies follows dup and what fcntl copies.
func (f *follower) copies() {
	from := Instr{Op: OpSet, Var: f.opened, Expr: &Expr{Op: ExFile, L: argument(0)}}
	f.at("dup", Entry, from)
	f.gives("dup")
	command := func(n int64) *Expr {
		return &Expr{Op: ExEq, L: &Expr{Op: ExNarrow, Size: 4, L: argument(1)}, R: &Expr{Op: ExConst, Value: n}}
	}
	from.Cond = &Expr{Op: ExOr, L: command(dupFD), R: command(dupFDCloexec)}
	for _, name := range []string{"fcntl", "fcntl64"} {
		f.at(name, Entry, from)
		f.gives(name)
	}
}

// opens follows what is opened by the path of a file that was chosen.
func (f *follower) opens(elems []string) {
	number, err := f.env.Object(grid.IO, slices.Clone(elems))
	if err != nil {
		return
	}
	for _, text := range f.env.OpenedAs(slices.Clone(elems)) {
		if text == "" || len(text) > MaxText {
			continue
		}
		for _, o := range pathOpens {
			f.at(o.name, Entry, Instr{Op: OpSet, Var: f.opened, Expr: &Expr{Op: ExConst, Value: int64(number)},
				Cond: &Expr{Op: ExMatch, L: argument(o.path), Text: text + "\x00"}})
			f.gives(o.name)
		}
	}
}

// kindOpens are the functions that return a descriptor of which only the type is known, beside those of pathOpens.
var kindOpens = map[string]string{"open_by_handle_at": "File", "socket": "Socket", "accept": "Socket", "accept4": "Socket"}

// kinds has what is opened known by its type at once, unless something knows more: other plans have code at the same places.
func (f *follower) kinds() {
	unknown := &Expr{Op: ExEq, L: &Expr{Op: ExFile, L: &Expr{Op: ExReturn}}, R: &Expr{Op: ExConst}}
	kinds := maps.Clone(kindOpens)
	for _, o := range pathOpens {
		kinds[o.name] = "File"
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		f.at(name, Return, Instr{Op: OpCall, Cond: unknown, Expr: &Expr{Op: ExRenew, L: &Expr{Op: ExReturn}, R: &Expr{Op: ExConst, Value: FileKinds[kinds[name]] << FileKindShift}}})
	}
}

// chosenFiles are the single files that a focus selects: one, or those of an item.
func (c *compiler) chosenFiles(x *matching) (files [][]string) {
	if x.union != nil && x.union.item.Base == grid.IO {
		files = slices.Clone(x.union.item.Paths())
	} else if e := c.focus.Elements(grid.IO); e != nil {
		files = [][]string{e}
	}
	return slices.DeleteFunc(files, func(e []string) bool { return len(e) != 2 })
}

// renew writes "renew(x, y)".
func (p planWriter) renew(e *Expr) string {
	if e.R == nil {
		return "renew(" + p.expr(e.L) + ")"
	}
	return "renew(" + p.expr(e.L) + ", " + p.expr(e.R) + ")"
}
