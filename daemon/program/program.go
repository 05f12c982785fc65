package program

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"sync"

	"culprit/daemon/image"
	"culprit/daemon/libc"
	"culprit/pcl"
)

// A Program is the code of one process at its addresses: the objects that it maps, and the functions that somebody has asked for. It is for
// one goroutine at a time.
type Program struct {
	source  Source
	files   *Files
	log     func(string)
	Exe     string    // path of its file; not to be shown raw
	exe     FileKey   // its file, zero if that is not known
	list    []*Object // in order of load address
	vdso    Mapping
	loads   int // objects that were ever found
	changes int // how often objects came or went

	funcs map[pcl.FuncID]*Function // those that somebody has asked for: see know
	found finder
	meant dictionary

	generated generated

	// language is that of the programs that it runs, as of one value of changes.
	language struct {
		name  string
		since int // one more than that value; 0 if nobody has asked
	}

	unreadable map[FileKey]int    // files of code that could not be read, and how often
	notCode    map[uint64]FileKey // mappings that hold no code where their file says, by where they begin
	many       sync.Once          // said that there are too many files
}

// Open reads what a process maps. log is told of what cannot be read.
func Open(s Source, files *Files, log func(string)) (*Program, error) {
	p := &Program{source: s, files: files, log: log, Exe: s.Exe(), exe: s.ExeFile(), funcs: map[pcl.FuncID]*Function{}, unreadable: map[FileKey]int{}}
	maps, err := s.Maps()
	if err != nil {
		return nil, err
	}
	if _, err := p.Refresh(maps, func(*Object) {}); err != nil {
		return nil, err
	}
	p.findResident()
	return p, nil
}

// Changes are what came to a program and what went, since the refresh before.
type Changes struct{ Loaded, Unloaded []*Object }

// MaxObjects bounds the files of code that are read of one process. Large programs have some hundreds; each costs us a descriptor and
// takes time at the attach.
const MaxObjects = 4096

// triesToRead is how often a file of code is tried that cannot be read: while it is being mapped that may change.
const triesToRead = 3

// Refresh finds what was mapped and unmapped since it was last called; maps are all mappings of the process now. leave is called for each
// object that is not mapped any more, or not at its place, before it is forgotten. A process without a file of code that can be read is an
// error.
func (p *Program) Refresh(maps []Mapping, leave func(*Object)) (c Changes, err error) {
	c.Unloaded = p.unload(maps, leave)
	p.noteVdso(maps)
	c.Loaded, err = p.load(maps)
	return c, err
}

// unload forgets the objects that are not mapped any more.
func (p *Program) unload(maps []Mapping, leave func(*Object)) (gone []*Object) {
	kept := p.list[:0:0]
	for _, o := range p.list {
		if o.MappedIn(maps) {
			kept = append(kept, o)
			continue
		}
		leave(o)
		for id, f := range p.funcs {
			if f.Obj == o {
				delete(p.funcs, id)
			}
		}
		p.changes++
		gone = append(gone, o)
	}
	p.list = kept
	return gone
}

// load opens every file whose code is mapped and that is not known yet.
func (p *Program) load(maps []Mapping) (loaded []*Object, err error) {
	var firstErr error
	notCode := map[uint64]FileKey{}
	defer func() { p.notCode = notCode }()
	for i := range maps {
		m := &maps[i]
		if !m.Exec || m.File.Inode == 0 || p.ObjectAt(m.Start) != nil || m.InMemory() && m.File != p.exe || p.unreadable[m.File] >= triesToRead {
			continue
		}
		if p.notCode[m.Start] == m.File {
			notCode[m.Start] = m.File
			continue
		}
		if len(p.list)+len(p.unreadable) >= MaxObjects {
			p.many.Do(func() {
				p.log(fmt.Sprintf("more than %d files of code are mapped: what is in the others is not measured", MaxObjects))
			})
			break
		}
		o, err := p.loadObject(maps, m)
		switch {
		case errors.Is(err, errNotCode):
			notCode[m.Start] = m.File
		case err != nil:
			p.unreadable[m.File]++
			if firstErr == nil {
				firstErr = err
			}
		default:
			loaded = append(loaded, o)
		}
	}
	if len(p.list) == 0 {
		if firstErr == nil {
			firstErr = fmt.Errorf("process %d maps no executable file", p.source.PID())
		}
		return nil, firstErr
	}
	return loaded, nil
}

// loadObject opens the file of an executable mapping and finds where it was loaded.
func (p *Program) loadObject(maps []Mapping, m *Mapping) (*Object, error) {
	img, err := p.files.Open(p.source, m)
	if err != nil {
		p.log(fmt.Sprintf("%s: %v", m.Path, err))
		return nil, err
	}
	o := &Object{Object: img, Name: p.files.name(p.source, m), path: m.Path, File: m.File, Text: m.Start, Lo: m.Start, Hi: m.End, Shared: m.Shared}
	if !o.place(m) {
		p.log(fmt.Sprintf("%s is mapped at %#x, but no code of the file begins there: what runs there is not measured", m.Path, m.Start))
		return nil, errNotCode
	}
	o.extend(maps)
	p.loads++
	p.changes++
	p.list = append(p.list, o)
	sort.Slice(p.list, func(a, b int) bool { return p.list[a].Lo < p.list[b].Lo })
	return o, nil
}

var errNotCode = errors.New("no segment of code is mapped there")

// Objects are the files that the program maps code of, in order of address. They must not be changed.
func (p *Program) Objects() []*Object { return p.list }

// Version changes whenever an object comes or goes: what was found out of all objects is to be asked again then.
func (p *Program) Version() int { return p.changes }

// Loads is how many objects were ever found.
func (p *Program) Loads() int { return p.loads }

// Known are the functions that somebody asked for.
func (p *Program) Known() []*Function { return slices.Collect(maps.Values(p.funcs)) }

// Func is what was asked for by its number, nil if nobody did, or it is not mapped any more.
func (p *Program) Func(id pcl.FuncID) *Function { return p.funcs[id] }

// Main is the executable, as opposed to its libraries.
func (p *Program) Main() *Object {
	for _, o := range p.list {
		if o.path == p.Exe || p.exe.Inode != 0 && o.File == p.exe { // by the path too: some file systems say another device of what is mapped
			return o
		}
	}
	return p.list[0]
}

// ObjectAt finds the object that maps an address.
func (p *Program) ObjectAt(addr uint64) *Object {
	i := sort.Search(len(p.list), func(i int) bool { return p.list[i].Hi > addr })
	if i < len(p.list) && p.list[i].Holds(addr) {
		return p.list[i]
	}
	return nil
}

// FunctionAt finds the function that covers an address, one of generated code included if the program has named it.
func (p *Program) FunctionAt(addr uint64) *Function {
	o := p.ObjectAt(addr)
	if o == nil {
		return p.generatedAt(addr)
	}
	fn := o.FunctionAt(addr - o.Bias)
	if fn == nil {
		return nil
	}
	for _, id := range p.Know(o, []*image.Function{fn}) {
		return p.funcs[id]
	}
	return nil
}

// findResident notes which of the objects that a program has at first stay as long as it runs: the program itself, what loads its libraries,
// and the C library that came with them. A second C library (dlmopen), or that of a program without a loader, may go.
func (p *Program) findResident() {
	var libcs []*Object
	entry, loader := p.source.Entry(), p.source.Loader()
	for _, o := range p.list {
		o.stays = o.Holds(entry) || o.Holds(loader)
		if libc.IsC(o.Name) {
			libcs = append(libcs, o)
		}
	}
	if len(libcs) == 1 && loader != 0 {
		libcs[0].stays = true
	}
}
