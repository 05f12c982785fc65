package elffile

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// Where distributions put separate debug files (gdb manual, "Separate Debug Files").
const (
	debugDir   = "/usr/lib/debug"
	buildIDDir = debugDir + "/.build-id"
)

// DebugRoot is where this machine has separate debug files, by build-id. It is a variable for the tests.
var DebugRoot = buildIDDir

// maxDebugLink is how large a debug file may be of which a checksum is to be made, in bytes.
const maxDebugLink = 2 << 30

// A DebugReader is an open file.
type DebugReader interface {
	io.ReaderAt
	io.Closer
}

// A Root opens a file where the process that maps an object would find it: by its absolute path below the root directory of the process. It
// gives regular files only, and their size in bytes; the error is fs.ErrNotExist where there is nothing. Whoever opened it closes it.
type Root func(path string) (r DebugReader, size int64, err error)

// LiesIn says where the object lies, for its debug file may lie there too: in this directory, below this root. To be called before anything is
// read of the file.
func (f *File) LiesIn(root Root, dir string) { f.root, f.dir = root, dir }

// DebugFile finds the separate debug file of a stripped object; nil if there is none that fits. It looks for one of the same build-id on
// this machine and in the root directory of the process, for one by the link that strip leaves, and then into the object itself, where some
// distributions put the names of functions.
func (f *File) DebugFile() *File {
	d, _ := f.debug.Get(f.name, func() (*File, error) {
		if f.Section(".symtab") != nil && f.Section(".debug_info") != nil {
			return nil, nil // nothing was taken out of it
		}
		for _, p := range f.debugPlaces() {
			if d := f.debugAt(p); d != nil {
				return d, nil // it stays open as long as the object: DWARF is read later
			}
		}
		return f.embedded(), nil
	})
	return d
}

// A debugPlace is where a debug file may lie.
type debugPlace struct {
	root   Root
	path   string
	link   *debugLink // that led to it, nil if the build-id did
	beside bool       // it lies where the object does
}

// debugPlaces are tried in order.
func (f *File) debugPlaces() (list []debugPlace) {
	if id := f.buildID; len(id) >= 4 { // the path is made of hexadecimal digits only, so nothing in the file can lead it elsewhere
		file := "/" + id[:2] + "/" + id[2:] + ".debug"
		list = append(list, debugPlace{root: onThisMachine, path: DebugRoot + file})
		if f.root != nil {
			list = append(list, debugPlace{root: f.root, path: buildIDDir + file})
		}
	}
	if l := f.debugLink(); l != nil && f.root != nil && len(f.dir) > 0 && f.dir[0] == '/' {
		list = append(list,
			debugPlace{f.root, path.Join(f.dir, l.name), l, true},
			debugPlace{f.root, path.Join(f.dir, ".debug", l.name), l, true},
			debugPlace{f.root, path.Join(debugDir, f.dir, l.name), l, false})
	}
	return list
}

// onThisMachine opens what was installed here.
func onThisMachine(path string) (DebugReader, int64, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, st.Size(), nil
}

// debugAt opens the debug file at a place; nil if there is none, or none that fits, of which somebody is told.
func (f *File) debugAt(p debugPlace) *File {
	r, size, err := p.root(p.path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR) {
		return nil // for us there is nothing
	}
	if err != nil {
		f.notUsed(p, err)
		return nil
	}
	d, err := openFile(r, size, f.name, false)
	if err == nil {
		err = f.fits(d, p.link)
	}
	if err != nil {
		r.Close()
		f.notUsed(p, err)
		return nil
	}
	d.beside = p.beside
	d.OnLeftOut(func(text string) { f.LeftOut("%s", text) })
	return d
}

func (f *File) notUsed(p debugPlace, why error) {
	f.LeftOut("the debug file %s of %s was not used: %v", ValidText(p.path), f.name, why)
}

// fits says why a file is not the debug file of this one. One that the build-id led to must have the same; one that a link led to must have
// the checksum that the link gives, and the same build-id where the object has one.
func (f *File) fits(d *File, link *debugLink) error {
	if d.buildID != f.buildID {
		return errors.New("its build-id is another one")
	}
	if link == nil {
		return nil
	}
	if d.size > maxDebugLink {
		return fmt.Errorf("it has %d bytes, and nothing but a checksum of at most %d would say that it belongs to it", d.size, maxDebugLink)
	}
	sum := crc32.NewIEEE()
	if _, err := io.Copy(sum, io.NewSectionReader(d.r, 0, d.size)); err != nil {
		return err
	}
	if sum.Sum32() != link.crc {
		return errors.New("its checksum is not the one that the link to it gives")
	}
	return nil
}

// A debugLink is what strip leaves of a debug file that was split off (.gnu_debuglink): the name of the file, and its checksum.
type debugLink struct {
	name string
	crc  uint32
}

// maxFileName is the longest name that a file can have (NAME_MAX).
const maxFileName = 255

// debugLink is that of the object; nil if there is none, or none that names a file in a directory.
func (f *File) debugLink() *debugLink {
	s := f.Section(".gnu_debuglink")
	if s == nil || s.FileSize > maxFileName+8 {
		return nil
	}
	return parseDebugLink(s.Bytes())
}

func parseDebugLink(b []byte) *debugLink {
	r := Reader{Rest: b}
	name := r.Text()
	padding := -(len(name) + 1) & 3
	r.Take(padding)
	l := &debugLink{name: string(name), crc: uint32(r.Uint(4))}
	if r.Bad || l.name == "" || l.name == "." || l.name == ".." || len(l.name) > maxFileName {
		return nil
	}
	for _, c := range []byte(l.name) {
		if c == '/' {
			return nil
		}
	}
	return l
}

// DescribesItself reports whether there is debug information that counts as the object's own: it is in the object, or in a debug file of a
// program, or of a library beside which it lies. What a distribution knows about the insides of its libraries is no name for people, and
// whether it is installed must not change what functions are called. It is found out once: each name that is looked up asks.
func (f *File) DescribesItself() bool {
	is, _ := f.describes.Get(f.name, func() (bool, error) {
		if f.Section(".debug_info") != nil {
			return true, nil
		}
		d := f.DebugFile()
		return d != nil && (d.beside || f.isProgram()) && d.Section(".debug_info") != nil, nil
	})
	return is
}
