package daemon

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"sync"

	"golang.org/x/sys/unix"

	"culprit/daemon/image"
	"culprit/daemon/process"
)

// A fileKey names a file however it is reached.
type fileKey struct {
	dev   uint64
	inode uint64
}

// images keeps one image per file, shared by all targets that map it. Safe for use by several goroutines.
type images struct {
	mu     sync.Mutex
	byFile map[fileKey]*image.Object
	twins  map[placed]*twinPlans
	until  context.Context // ends the reading of files; nil = nothing does
	say    func(string)    // what is not read of a file; nil = dropped
}

// endWith has all reading of files end with ctx, until asBefore is called: an attach that is interrupted ends at once, whatever the
// files of its target are like.
func (s *images) endWith(ctx context.Context) (asBefore func()) {
	set := func(ctx context.Context) {
		s.mu.Lock()
		s.until = ctx
		s.mu.Unlock()
	}
	set(ctx)
	return func() { set(nil) }
}

// ended is why no file is to be read any more.
func (s *images) ended() error {
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
	of *images
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
func (s *images) name(p *process.Process, m process.Mapping) string {
	base := baseName(m.Path)
	if exe, _ := p.Exe(); exe != m.Path {
		return base
	}
	for _, n := range p.Invoked() {
		var a, b unix.Stat_t
		root := fmt.Sprintf("/proc/%d/root", p.PID())
		link := path.Join(root, path.Dir(m.Path), n)
		if n != base && unix.Stat(link, &a) == nil && unix.Stat(path.Join(root, m.Path), &b) == nil && a.Dev == b.Dev && a.Ino == b.Ino {
			return n
		}
	}
	return base
}

// open returns the image of a mapped file. The file stays open as long as the image may be read: until the daemon ends.
func (s *images) open(p *process.Process, m process.Mapping, key fileKey) (*image.Object, error) {
	s.mu.Lock()
	o, say := s.byFile[key], s.say
	s.mu.Unlock()
	if o != nil {
		return o, nil
	}
	f, err := p.OpenMapping(m)
	if err != nil {
		return nil, err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		f.Close()
		return nil, err
	}
	o, err = image.Open(mappedFile{f, s}, size, s.name(p, m))
	if err != nil {
		f.Close()
		return nil, err
	}
	if say != nil {
		o.OnLeftOut(say)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.byFile[key]; other != nil {
		f.Close()
		return other, nil
	}
	if s.byFile == nil {
		s.byFile = map[fileKey]*image.Object{}
	}
	s.byFile[key] = o
	return o, nil
}
