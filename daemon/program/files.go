package program

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"culprit/daemon/image"
	"culprit/daemon/image/elffile"
)

// Files keeps one image per file, shared by all programs that map it. Safe for use by several goroutines.
type Files struct {
	mu     sync.Mutex
	byFile map[FileKey]*image.Object
	until  context.Context // ends the reading of files; nil = nothing does
	Say    func(string)    // is told what is not read of a file; nil = nobody is. To be set before the first use
}

// EndWith has all reading of files end with ctx, until asBefore is called: an attach that is interrupted ends at once, whatever the
// files of its process are like.
func (s *Files) EndWith(ctx context.Context) (asBefore func()) {
	set := func(ctx context.Context) {
		s.mu.Lock()
		s.until = ctx
		s.mu.Unlock()
	}
	set(ctx)
	return func() { set(nil) }
}

// ended is why no file is to be read any more.
func (s *Files) ended() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until == nil {
		return nil
	}
	return s.until.Err()
}

// A mappedFile is what images read from.
type mappedFile struct {
	*os.File
	of *Files
}

// ReadAt fails once the reading is to end.
func (f mappedFile) ReadAt(b []byte, off int64) (int, error) {
	if err := f.of.ended(); err != nil {
		return 0, err
	}
	return f.File.ReadAt(b, off)
}

// name is what a file is called in resources. A program that was started through a link (Debian's redis-server is one) is
// called as it was started, not as the file that the link leads to.
func (s *Files) name(src Source, m *Mapping) string {
	if m.InMemory() { // whoever made it chose the name
		return strings.ReplaceAll(strings.TrimSuffix(m.Path[1:], " (deleted)"), "/", "_")
	}
	base := m.Path[strings.LastIndexByte(m.Path, '/')+1:]
	if src.Exe() != m.Path {
		return base
	}
	for _, n := range src.Invoked() {
		var a, b unix.Stat_t
		root := fmt.Sprintf("/proc/%d/root", src.PID())
		link := path.Join(root, path.Dir(m.Path), n)
		if n != base && unix.Stat(link, &a) == nil && unix.Stat(path.Join(root, m.Path), &b) == nil && a.Dev == b.Dev && a.Ino == b.Ino {
			return n
		}
	}
	return base
}

// rootOf opens files where a process would find them. Once that has ended, nothing is there.
func (s *Files) rootOf(src Source) elffile.Root {
	return func(path string) (elffile.DebugReader, int64, error) {
		f, err := src.OpenInRoot(path, false)
		if err != nil {
			return nil, 0, err
		}
		size, err := f.Seek(0, io.SeekEnd)
		if err != nil {
			f.Close()
			return nil, 0, err
		}
		return mappedFile{f, s}, size, nil
	}
}

// dirInRoot is the directory of a mapped file as the process would name it. The kernel shows paths as we would, unless the process is in another
// mount namespace.
func dirInRoot(src Source, m *Mapping) string {
	dir := path.Dir(m.Path)
	root, err := os.Readlink(fmt.Sprintf("/proc/%d/root", src.PID()))
	if rest, below := strings.CutPrefix(dir+"/", root+"/"); err == nil && root != "/" && below {
		return "/" + strings.TrimSuffix(rest, "/")
	}
	return dir
}

// Open returns the image of a mapped file. The file stays open as long as the image may be read: until the daemon ends.
func (s *Files) Open(src Source, m *Mapping) (*image.Object, error) {
	s.mu.Lock()
	o, say := s.byFile[m.File], s.Say
	s.mu.Unlock()
	if o != nil {
		return o, nil
	}
	f, err := src.OpenFile(m)
	if err != nil {
		return nil, err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		f.Close()
		return nil, err
	}
	o, err = image.Open(mappedFile{f, s}, size, s.name(src, m))
	if err != nil {
		f.Close()
		return nil, err
	}
	o.LiesIn(s.rootOf(src), dirInRoot(src, m))
	if say != nil {
		o.OnLeftOut(say)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.byFile[m.File]; other != nil {
		f.Close()
		return other, nil
	}
	if s.byFile == nil {
		s.byFile = map[FileKey]*image.Object{}
	}
	s.byFile[m.File] = o
	return o, nil
}
