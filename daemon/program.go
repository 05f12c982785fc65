package daemon

import (
	"errors"
	"fmt"
	"sort"
	"sync"

	"culprit/daemon/image"
	"culprit/daemon/libc"
	"culprit/pcl"
)

// A program is the code of one process at its addresses: the objects that it maps, and the functions that somebody has asked for. It is for
// one goroutine at a time.
type program struct {
	source  source
	files   *images
	log     func(string)
	exe     string
	list    []*object // in order of load address
	vdso    mapping
	loads   int // objects that were ever found
	changes int // how often objects came or went

	funcs map[pcl.FuncID]*function // those that somebody has asked for: see know
	found finder
	meant dictionary

	unreadable map[fileKey]int    // files of code that could not be read, and how often
	notCode    map[uint64]fileKey // mappings that hold no code where their file says, by where they begin
	many       sync.Once          // said that there are too many files
}

// openProgram reads what a process maps. log is told of what cannot be read.
func openProgram(s source, files *images, log func(string)) (*program, error) {
	p := &program{source: s, files: files, log: log, exe: s.exe(), funcs: map[pcl.FuncID]*function{}, unreadable: map[fileKey]int{}}
	maps, err := s.maps()
	if err != nil {
		return nil, err
	}
	if _, err := p.refresh(maps, func(*object) {}); err != nil {
		return nil, err
	}
	p.findResident()
	return p, nil
}

// A comings is what came to a program and what went, since the refresh before.
type comings struct{ loaded, unloaded []*object }

// maxObjects bounds the files of code that are read of one target. Large programs have some hundreds; each costs us a descriptor and
// takes time at the attach.
const maxObjects = 4096

// triesToRead is how often a file of code is tried that cannot be read: while it is being mapped that may change.
const triesToRead = 3

// refresh finds what was mapped and unmapped since it was last called; maps are all mappings of the process now. leave is called for each
// object that is not mapped any more, or not at its place, before it is forgotten. A process without a file of code that can be read is an
// error.
func (p *program) refresh(maps []mapping, leave func(*object)) (c comings, err error) {
	c.unloaded = p.unload(maps, leave)
	p.noteVdso(maps)
	c.loaded, err = p.load(maps)
	return c, err
}

// unload forgets the objects that are not mapped any more.
func (p *program) unload(maps []mapping, leave func(*object)) (gone []*object) {
	kept := p.list[:0:0]
	for _, o := range p.list {
		if o.mappedIn(maps) {
			kept = append(kept, o)
			continue
		}
		leave(o)
		for id, f := range p.funcs {
			if f.obj == o {
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
func (p *program) load(maps []mapping) (loaded []*object, err error) {
	var firstErr error
	notCode := map[uint64]fileKey{}
	defer func() { p.notCode = notCode }()
	for i := range maps {
		m := &maps[i]
		if !m.exec || m.file.inode == 0 || p.objectAt(m.start) != nil || m.inMemory() || p.unreadable[m.file] >= triesToRead {
			continue
		}
		if p.notCode[m.start] == m.file {
			notCode[m.start] = m.file
			continue
		}
		if len(p.list)+len(p.unreadable) >= maxObjects {
			p.many.Do(func() {
				p.log(fmt.Sprintf("more than %d files of code are mapped: what is in the others is not measured", maxObjects))
			})
			break
		}
		o, err := p.loadObject(maps, m)
		switch {
		case errors.Is(err, errNotCode):
			notCode[m.start] = m.file
		case err != nil:
			p.unreadable[m.file]++
			if firstErr == nil {
				firstErr = err
			}
		default:
			loaded = append(loaded, o)
		}
	}
	if len(p.list) == 0 {
		if firstErr == nil {
			firstErr = fmt.Errorf("process %d maps no executable file", p.source.pid())
		}
		return nil, firstErr
	}
	return loaded, nil
}

// loadObject opens the file of an executable mapping and finds where it was loaded.
func (p *program) loadObject(maps []mapping, m *mapping) (*object, error) {
	img, err := p.files.open(p.source, m)
	if err != nil {
		p.log(fmt.Sprintf("%s: %v", m.path, err))
		return nil, err
	}
	o := &object{Object: img, name: p.files.name(p.source, m), path: m.path, key: m.file, text: m.start, lo: m.start, hi: m.end}
	if !o.place(m) {
		p.log(fmt.Sprintf("%s is mapped at %#x, but no code of the file begins there: what runs there is not measured", m.path, m.start))
		return nil, errNotCode
	}
	o.extend(maps)
	p.loads++
	p.changes++
	p.list = append(p.list, o)
	sort.Slice(p.list, func(a, b int) bool { return p.list[a].lo < p.list[b].lo })
	return o, nil
}

var errNotCode = errors.New("no segment of code is mapped there")

// objects are the files that the program maps code of, in order of address. They must not be changed.
func (p *program) objects() []*object { return p.list }

// version changes whenever an object comes or goes: what was found out of all objects is to be asked again then.
func (p *program) version() int { return p.changes }

// loaded is how many objects were ever found.
func (p *program) loaded() int { return p.loads }

// function is what was asked for by its number, nil if nobody did, or it is not mapped any more.
func (p *program) function(id pcl.FuncID) *function { return p.funcs[id] }

// main is the executable, as opposed to its libraries.
func (p *program) main() *object {
	for _, o := range p.list {
		if o.path == p.exe {
			return o
		}
	}
	return p.list[0]
}

// objectAt finds the object that maps an address.
func (p *program) objectAt(addr uint64) *object {
	i := sort.Search(len(p.list), func(i int) bool { return p.list[i].hi > addr })
	if i < len(p.list) && p.list[i].holds(addr) {
		return p.list[i]
	}
	return nil
}

// functionAt finds the function that covers an address.
func (p *program) functionAt(addr uint64) *function {
	o := p.objectAt(addr)
	if o == nil {
		return nil
	}
	fn := o.FunctionAt(addr - o.bias)
	if fn == nil {
		return nil
	}
	for _, id := range p.know(o, []*image.Function{fn}) {
		return p.funcs[id]
	}
	return nil
}

// findResident notes which of the objects that a target has at first stay as long as it runs: the program itself, what loads its libraries,
// and the C library that came with them. A second C library (dlmopen), or that of a program without a loader, may go.
func (p *program) findResident() {
	var libcs []*object
	entry, loader := p.source.entry(), p.source.loader()
	for _, o := range p.list {
		o.stays = o.holds(entry) || o.holds(loader)
		if libc.IsC(o.name) {
			libcs = append(libcs, o)
		}
	}
	if len(libcs) == 1 && loader != 0 {
		libcs[0].stays = true
	}
}
