package program

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"culprit/daemon/image"
	"culprit/daemon/image/elffile"
	"culprit/pcl"
)

// Code that a program generates while it runs, of JavaScript or Java for example, is in no file. Some programs say where they put which
// function, in /tmp/perf-PID.map: a line "START SIZE NAME" for each, numbers in hexadecimal, the newest last (Linux,
// tools/perf/Documentation/jit-interface.txt). A function that is compiled again has another address then, and is the same function here:
// all that has one name is one, and its number is no address.

// WhyGenerated is why generated code has no points.
const WhyGenerated = "its code is generated while the program runs, and may be moved or replaced at any time"

// What is read of what a program says.
const (
	maxGenerated     = 1 << 18  // functions, the others have no names
	maxGeneratedFile = 64 << 20 // bytes
	maxGeneratedRead = 4 << 20  // bytes at once: some 30 ms
	maxGeneratedLine = 4096     // bytes
)

// firstGenerated is the number of the first function of generated code. No code of a process has such an address.
const firstGenerated = pcl.FuncID(1 << 63)

// A generated is what is known of the generated code of a program.
type generated struct {
	seen  bool    // there is code outside of all files
	file  FileKey // where it is named
	at    int64   // how many bytes of that were read
	over  bool    // it says more than is read
	list  []place // in order of address
	lines uint32
	funcs map[Name]*Function // those that somebody has asked for
}

// A place is where a program says that a function is.
type place struct {
	lo, hi uint64
	line   uint32 // a later one counts
	name   string
}

// ReadGenerated reads what the program has said of its generated code since it was last asked, if it has any. It reports whether something is
// known of it for the first time.
func (p *Program) ReadGenerated() (first bool) {
	g := &p.generated
	if !g.seen || g.over {
		return false
	}
	f, err := p.source.OpenGenerated()
	if err != nil {
		return false
	}
	defer f.Close()
	known := len(g.list) > 0
	if err := g.read(f); err != nil {
		g.over = true
		p.log(fmt.Sprintf("not all names of generated code are known: %v", err))
	}
	return !known && len(g.list) > 0
}

// Generates reports whether something is known of code that the program generates.
func (p *Program) Generates() bool { return len(p.generated.list) > 0 }

// read takes in the whole lines that were written since.
func (g *generated) read(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	if is := (FileKey{st.Dev, st.Ino}); is != g.file || st.Size < g.at { // another program was begun here, or another file
		g.file, g.at, g.list, g.lines = is, 0, nil, 0
	}
	b := make([]byte, min(st.Size-g.at, maxGeneratedRead))
	n, err := f.ReadAt(b, g.at)
	if err != nil && err != io.EOF {
		return err
	}
	b = b[:n]
	end := bytes.LastIndexByte(b, '\n') + 1
	if end == 0 && n > maxGeneratedLine {
		return fmt.Errorf("a line of %s has more than %d bytes", f.Name(), maxGeneratedLine)
	}
	g.at += int64(end)
	g.add(b[:end])
	if len(g.list) >= maxGenerated || g.at > maxGeneratedFile {
		return fmt.Errorf("of %s the first %d lines and %d MB at most are read", f.Name(), maxGenerated, maxGeneratedFile>>20)
	}
	return nil
}

// add takes in lines.
func (g *generated) add(text []byte) {
	var list []place
	for line := range bytes.Lines(text) {
		g.lines++
		if f, ok := parsePlace(string(bytes.TrimSuffix(line, []byte("\n")))); ok && len(g.list)+len(list) < maxGenerated {
			f.line = g.lines
			list = append(list, f)
		}
	}
	g.list = append(g.list, list...)
	slices.SortStableFunc(g.list, func(a, b place) int { return cmp.Or(cmp.Compare(a.lo, b.lo), cmp.Compare(a.line, b.line)) })
	kept := g.list[:0]
	for i, f := range g.list {
		if i+1 == len(g.list) || g.list[i+1].lo != f.lo { // else another one is there now
			kept = append(kept, f)
		}
	}
	g.list = kept
}

func parsePlace(line string) (f place, ok bool) {
	start, rest, _ := strings.Cut(line, " ")
	size, name, _ := strings.Cut(rest, " ")
	lo, err := strconv.ParseUint(strings.TrimPrefix(start, "0x"), 16, 64)
	n, err2 := strconv.ParseUint(strings.TrimPrefix(size, "0x"), 16, 64)
	name = elffile.ValidText(name)
	if err != nil || err2 != nil || n == 0 || lo+n < lo || name == "" {
		return f, false
	}
	return place{lo: lo, hi: lo + n, name: name}, true
}

// maxOverlap is how many places are looked through that begin before an address: what is there no longer may lie in between.
const maxOverlap = 32

// nameAt is what the program calls the code at an address, "" if it has not said so.
func (g *generated) nameAt(addr uint64) (name string) {
	i := sort.Search(len(g.list), func(i int) bool { return g.list[i].lo > addr })
	newest := uint32(0)
	for j := i - 1; j >= max(i-maxOverlap, 0); j-- {
		if f := &g.list[j]; addr < f.hi && f.line > newest {
			name, newest = f.name, f.line
		}
	}
	return name
}

// generatedAt is the function of generated code that covers an address; nil if none is known.
func (p *Program) generatedAt(addr uint64) *Function {
	if addr >= p.vdso.Start && addr < p.vdso.End {
		return nil
	}
	g := &p.generated
	g.seen = true
	text := g.nameAt(addr)
	if text == "" {
		return nil
	}
	n := generatedName(text)
	if g.funcs == nil {
		g.funcs = map[Name]*Function{}
	}
	f := g.funcs[n]
	if f == nil {
		f = &Function{ID: firstGenerated + pcl.FuncID(len(g.funcs)), Obj: inNoFile(),
			Fn: &image.Function{Name: n.Function, Module: n.Module, Size: 1, Named: true, Refuse: WhyGenerated}}
		g.funcs[n], p.funcs[f.ID] = f, f
	}
	return f
}

// generatedNamed is the function of generated code with a name; none if it was not seen.
func (p *Program) generatedNamed(n Name) []pcl.FuncID {
	if f := p.generated.funcs[n]; f != nil {
		return []pcl.FuncID{f.ID}
	}
	return nil
}

// generatedIn are the functions of generated code of a module that were seen, in the order in which they were.
func (p *Program) generatedIn(module string) (ids []pcl.FuncID) {
	for n, f := range p.generated.funcs {
		if n.Module == module {
			ids = append(ids, f.ID)
		}
	}
	return Distinct(ids)
}

// Generated reports whether the function's code is generated while the program runs.
func (f *Function) Generated() bool { return f.ID >= firstGenerated }

// generatedModule is the module of generated code of which it is not known where it was written.
const generatedModule = "generated code"

// How programs name the code that they generate.
var (
	// of V8: kind, how it was compiled, name, file, line, column
	nameOfV8 = regexp.MustCompile(`^(?:JS|LazyCompile|Function|Script|Eval):([~*^+']?)(\S*) (.+?)(?::(\d+))?(?::\d+)?$`)
	// of HotSpot, as jcmd writes it: result, class, method, parameters
	nameOfHotSpot = regexp.MustCompile(`^(?:[\w.$\[\]]+ )?((?:[\w$]+\.)*[\w$]+)\.([\w$<>]+)\([^()]*\)$`)
	// of HotSpot, as agents write it
	nameOfAgent = regexp.MustCompile(`^L?([\w$/]+);?::([\w$<>]+)`)
)

// generatedName takes the module and the function out of what a program says. It is the same however the function was compiled.
func generatedName(text string) Name {
	if m := nameOfV8.FindStringSubmatch(text); m != nil {
		n := Name{path.Base(m[3]), m[2]}
		if n.Function == "" {
			n.Function = "anonymous:" + m[4]
		}
		return n
	}
	if m := nameOfHotSpot.FindStringSubmatch(text); m != nil {
		return Name{m[1], m[2]}
	}
	if m := nameOfAgent.FindStringSubmatch(text); m != nil {
		return Name{strings.ReplaceAll(m[1], "/", "."), m[2]}
	}
	return Name{generatedModule, text}
}

// inNoFile is the object of all generated code: a file with nothing in it.
var inNoFile = sync.OnceValue(func() *Object {
	head := make([]byte, 64)
	copy(head, "\x7fELF\x02\x01\x01")
	for at, v := range map[int]uint16{16: 3, 18: 62, 20: 1, 52: 64, 54: 56, 58: 64} { // a shared object for x86-64, without segments and sections
		binary.LittleEndian.PutUint16(head[at:], v)
	}
	o, err := image.Open(bytes.NewReader(head), int64(len(head)), generatedModule)
	if err != nil {
		panic("BUG: an empty object cannot be read: " + err.Error())
	}
	return &Object{Object: o, Name: generatedModule}
})
