package elffile

import (
	"debug/elf"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// What a file claims costs nothing to claim: a section may say that it expands to gigabytes, a sparse file may have a symbol table as
// large as a disk. So all memory that contents of files take is taken out of one allowance of this process. What does not fit is not read:
// the rest of the object is measured as if it did not have it, and somebody is told.

// allowed is the memory for contents of files, in bytes, of all objects of this process together. It is a variable for the tests.
var allowed int64 = 1 << 30

// used is how much of it is in use.
var used atomic.Int64

// Limits of what one section may claim to expand to. Compilers' sections expand by 2 to 5, and some small ones that repeat themselves by 35.
const (
	maxExpansion      = 16 // expanded size over size in the file
	maxExpansionSmall = 64 // of a section of up to smallSection bytes, expanded
	smallSection      = 32 << 20
)

// Memory that is made out of each byte of a section, at most, besides the byte itself.
var weights = map[string]int64{
	".debug_abbrev":   20, // tables of attributes
	".debug_rnglists": 6,
	".eh_frame":       4,
	".debug_frame":    4,
}

// A share is what one object has taken of the allowance. It is given back when the object is garbage.
type share struct {
	taken *atomic.Int64
	mu    sync.Mutex
	said  []string
	tell  func(string)
}

func newShare(f *File) *share {
	s := &share{taken: &atomic.Int64{}}
	runtime.AddCleanup(f, func(taken *atomic.Int64) { used.Add(-taken.Load()) }, s.taken)
	return s
}

// take asks for memory; false if there is too little. One question gets half of what is left at most, so that one file cannot keep all
// others from being read.
func (s *share) take(n int64) bool {
	for {
		was := used.Load()
		if n < 0 || n > (allowed-was)/2 {
			return false
		}
		if used.CompareAndSwap(was, was+n) {
			s.taken.Add(n)
			return true
		}
	}
}

// maxSaid bounds what is told of one object.
const maxSaid = 20

// LeftOut notes, once, what is not read of an object and why.
func (f *File) LeftOut(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s := f.share
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.said, text) || len(s.said) >= maxSaid {
		return
	}
	s.said = append(s.said, text)
	if s.tell != nil {
		s.tell(text)
	}
}

// OnLeftOut has tell called with of everything in the file that is not read since it claims too much: what was found so far, and what is found from
// now on. tell may be called from any goroutine, and must not call the object.
func (f *File) OnLeftOut(tell func(text string)) {
	s := f.share
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell = tell
	for _, text := range s.said {
		tell(text)
	}
}

// holds names what a section holds, for people.
func holds(name string) string {
	switch {
	case strings.HasPrefix(name, ".debug_"), strings.HasPrefix(name, ".zdebug_"):
		return "debug information"
	case name == ".symtab", name == ".dynsym", strings.HasSuffix(name, "strtab"), name == ".dynstr":
		return "symbols"
	}
	return "a section"
}

// mayRead takes memory for the contents of a section, of which n bytes are to be kept.
func (f *File) mayRead(name string, n uint64) bool {
	if n > uint64(allowed) || !f.share.take(int64(n)*(1+weights[name])) {
		f.LeftOut("%s of %s was not read: %s has %d bytes, and %d MB are set aside for what files say", holds(name), f.name, name, n, allowed>>20)
		return false
	}
	return true
}

// mayExpand is mayRead for a section that may be compressed, with what that may claim.
func (f *File) mayExpand(s *elf.Section) bool {
	if s.FileSize > uint64(f.size) {
		return false
	}
	if ratio := s.Size / max(s.FileSize, 1); ratio > maxExpansionSmall || ratio > maxExpansion && s.Size > smallSection {
		f.LeftOut("%s of %s was not read: %s claims to expand from %d bytes to %d", holds(s.Name), f.name, s.Name, s.FileSize, s.Size)
		return false
	}
	return f.mayRead(s.Name, s.Size)
}

// expand reads a section, expanded. The memory is asked for in one piece: a reader that grows it would take three times as much.
func expand(s *elf.Section) ([]byte, error) {
	b := make([]byte, s.Size)
	_, err := io.ReadFull(s.Open(), b)
	return b, err
}
