// Package textdiff compares the code of a process with the files that it comes from. It asks nothing of the threads.
package textdiff

import (
	"io"
	"os"
	"slices"

	"culprit/daemon/process/raw"
)

// A Process is what is compared with its files.
type Process interface {
	Maps() ([]raw.Mapping, error)
	OpenMapping(m raw.Mapping) (*os.File, error)
	ReadMem(addr raw.Addr, b []byte) error
	Gone() bool
}

// A Diff is a run of bytes in executable memory that is not as in its file.
type Diff struct {
	Addr  raw.Addr
	Bytes int
	Path  string // not to be shown raw
}

// Text compares every executable mapping of a file with that file and gives the differences in order of address; none means that the
// text is as it was loaded. (Text with relocations does not exist on x86-64; the vdso has no file and is left out.)
func Text(p Process) ([]Diff, error) {
	maps, err := p.Maps()
	if err != nil {
		return nil, err
	}
	var out []Diff
	for _, m := range maps {
		if m.Perms&raw.Exec == 0 || m.Perms&raw.Shared != 0 || !m.FileBacked() {
			continue
		}
		diffs, err := steadyDiff(p, m)
		if err != nil {
			return out, err
		}
		out = append(out, diffs...)
	}
	return out, nil
}

// steadyDiff is diffMapping for a target that loads and unloads at any time, even another file to the same place and the first one
// again: a difference that is one is still there when one looks once more. A mapping that is gone has none.
func steadyDiff(p Process, m raw.Mapping) (diffs []Diff, err error) {
	const tries = 5
	for range tries {
		before := diffs
		diffs, err = diffMapping(p, m)
		switch {
		case err == nil && (len(diffs) == 0 || slices.Equal(diffs, before)):
			return diffs, nil
		case unmapped(p, m):
			return nil, nil
		}
	}
	return diffs, err
}

// unmapped reports whether a mapping is no more, or is another one now.
func unmapped(p Process, m raw.Mapping) bool {
	maps, err := p.Maps()
	return err == nil && !slices.Contains(maps, m)
}

func diffMapping(p Process, m raw.Mapping) ([]Diff, error) {
	f, err := p.OpenMapping(m)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return diffFile(p, m, f)
}

// diffFile compares what is at the addresses of a mapping with the part of a file that it names.
func diffFile(p Process, m raw.Mapping, f io.ReaderAt) ([]Diff, error) {
	const piece = 64 << 10
	var out []Diff
	mem, file := make([]byte, piece), make([]byte, piece)
	for a := m.Start; a < m.End; a += piece {
		n := int(min(uint64(m.End-a), piece))
		k, err := f.ReadAt(file[:n], int64(m.Offset)+int64(a-m.Start))
		if err != nil && err != io.EOF {
			return out, err
		}
		clear(file[k:n]) // the last page is filled up with zeros
		whole := (k + raw.PageSize - 1) &^ (raw.PageSize - 1)
		n = min(n, whole) // pages behind the end of the file cannot be read
		if err := p.ReadMem(a, mem[:n]); err != nil {
			return out, err
		}
		out = appendDiffs(out, mem[:n], file[:n], a, m.Path)
	}
	return out, nil
}

// appendDiffs adds the runs of unequal bytes; a run that goes on from the previous piece is lengthened.
func appendDiffs(out []Diff, mem, file []byte, base raw.Addr, path string) []Diff {
	for i := range mem {
		if mem[i] == file[i] {
			continue
		}
		a := base + raw.Addr(i)
		if n := len(out); n > 0 && out[n-1].Addr+raw.Addr(out[n-1].Bytes) == a {
			out[n-1].Bytes++
			continue
		}
		out = append(out, Diff{Addr: a, Bytes: 1, Path: path})
	}
	return out
}
