package compile

import (
	"maps"
	"slices"

	"culprit/grid"
	"culprit/pcl"
)

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
func (c *compiler) followFiles(x *pcl.Match) {
	if !c.plan.UsesFiles() {
		return
	}
	f := &follower{compiler: c, opened: c.newVar("$opened", pcl.Counter), spawning: c.newVar("$spawning", pcl.Counter)}
	f.spawns()
	for _, end := range descriptorEnds {
		var file *pcl.Expr
		if end.from >= 0 {
			file = &pcl.Expr{Op: pcl.ExFile, L: argument(end.from)}
		}
		f.at(end.name, pcl.Entry, f.renew(argument(end.fd), file))
	}
	f.copies()
	f.kinds()
	for _, elems := range c.chosenFiles(x) {
		f.opens(elems)
	}
}

func argument(i int64) *pcl.Expr { return &pcl.Expr{Op: pcl.ExArg, Value: i} }

// A follower adds requests to a plan. opened is the variable in which a thread keeps which file it opens or copies, spawning the one that
// says that it starts a child: until that is another program it runs here, as this thread, and closes descriptors of its own.
type follower struct {
	*compiler
	opened, spawning int
}

// spawns follows the functions that start children in such a way.
func (f *follower) spawns() {
	for _, name := range []string{"posix_spawn", "posix_spawnp"} {
		f.at(name, pcl.Entry, pcl.Instr{Op: pcl.OpSet, Var: f.spawning, Expr: &pcl.Expr{Op: pcl.ExConst, Value: 1}})
		f.at(name, pcl.Return, pcl.Instr{Op: pcl.OpSet, Var: f.spawning, Expr: &pcl.Expr{Op: pcl.ExConst}})
	}
}

// renew makes a descriptor stand for something else, unless it is a child's.
func (f *follower) renew(fd, file *pcl.Expr) pcl.Instr {
	own := &pcl.Expr{Op: pcl.ExEq, L: &pcl.Expr{Op: pcl.ExVar, Value: int64(f.spawning)}, R: &pcl.Expr{Op: pcl.ExConst}}
	return pcl.Instr{Op: pcl.OpCall, Expr: &pcl.Expr{Op: pcl.ExRenew, L: fd, R: file}, Cond: own}
}

func (f *follower) at(name string, where pcl.Where, code ...pcl.Instr) {
	for _, id := range unique(f.env.Named(name)) {
		r := pcl.Request{Func: id, Where: where, Code: code, Follows: true}
		if !slices.ContainsFunc(f.plan.Requests, func(o pcl.Request) bool { return o.Follows && sameRequest(&o, &r, f.plan) }) {
			f.plan.Requests = append(f.plan.Requests, r)
		}
	}
}

// sameRequest tells whether two requests do the same at the same place, as two names of one function give.
func sameRequest(a, b *pcl.Request, p *pcl.Plan) bool {
	return a.Func == b.Func && a.Where == b.Where && p.RequestText(a) == p.RequestText(b)
}

// gives has a function's return tell that what it returns stands for the file that its entry has noted.
func (f *follower) gives(name string) {
	opened := &pcl.Expr{Op: pcl.ExVar, Value: int64(f.opened)}
	f.at(name, pcl.Return, pcl.Instr{Op: pcl.OpCall, Cond: opened, Expr: &pcl.Expr{Op: pcl.ExRenew, L: &pcl.Expr{Op: pcl.ExReturn}, R: opened}},
		pcl.Instr{Op: pcl.OpSet, Var: f.opened, Expr: &pcl.Expr{Op: pcl.ExConst}})
}

// copies follows dup and what fcntl copies.
func (f *follower) copies() {
	from := pcl.Instr{Op: pcl.OpSet, Var: f.opened, Expr: &pcl.Expr{Op: pcl.ExFile, L: argument(0)}}
	f.at("dup", pcl.Entry, from)
	f.gives("dup")
	command := func(n int64) *pcl.Expr {
		return &pcl.Expr{Op: pcl.ExEq, L: &pcl.Expr{Op: pcl.ExNarrow, Size: 4, L: argument(1)}, R: &pcl.Expr{Op: pcl.ExConst, Value: n}}
	}
	from.Cond = &pcl.Expr{Op: pcl.ExOr, L: command(dupFD), R: command(dupFDCloexec)}
	for _, name := range []string{"fcntl", "fcntl64"} {
		f.at(name, pcl.Entry, from)
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
		if text == "" || len(text) > pcl.MaxText {
			continue
		}
		for _, o := range pathOpens {
			f.at(o.name, pcl.Entry, pcl.Instr{Op: pcl.OpSet, Var: f.opened, Expr: &pcl.Expr{Op: pcl.ExConst, Value: int64(number)},
				Cond: &pcl.Expr{Op: pcl.ExPath, L: argument(o.path), Text: text}})
			f.gives(o.name)
		}
	}
}

// kindOpens are the functions that return a descriptor of which only the type is known, beside those of pathOpens.
var kindOpens = map[string]string{"open_by_handle_at": "File", "socket": "Socket", "accept": "Socket", "accept4": "Socket"}

// kinds has what is opened known by its type at once, unless something knows more: other plans have code at the same places.
func (f *follower) kinds() {
	unknown := &pcl.Expr{Op: pcl.ExEq, L: &pcl.Expr{Op: pcl.ExFile, L: &pcl.Expr{Op: pcl.ExReturn}}, R: &pcl.Expr{Op: pcl.ExConst}}
	kinds := maps.Clone(kindOpens)
	for _, o := range pathOpens {
		kinds[o.name] = "File"
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		f.at(name, pcl.Return, pcl.Instr{Op: pcl.OpCall, Cond: unknown, Expr: &pcl.Expr{Op: pcl.ExRenew, L: &pcl.Expr{Op: pcl.ExReturn}, R: &pcl.Expr{Op: pcl.ExConst, Value: pcl.FileKinds[kinds[name]] << pcl.FileKindShift}}})
	}
}

// chosenFiles are the single files that a focus selects: one, or those of an item.
func (c *compiler) chosenFiles(x *pcl.Match) (files [][]string) {
	for _, h := range []grid.Hierarchy{grid.IO, grid.SyncObject} {
		if x.Union != nil && x.Union.Item.Base == h {
			for _, e := range x.Union.Item.Paths() {
				files = append(files, fileIn(h, e))
			}
		} else {
			files = append(files, fileIn(h, c.focus.Elements(h)))
		}
	}
	return slices.DeleteFunc(files, func(e []string) bool { return len(e) != 2 })
}

// fileIn is the resource of /IO that a selection in a hierarchy is, or is the lock of; nil if it is none.
func fileIn(h grid.Hierarchy, elems []string) []string {
	switch {
	case h == grid.IO:
		return elems
	case pcl.IsFileLock(h, elems) && len(elems) == 2:
		return []string{"File", elems[1]}
	}
	return nil
}
