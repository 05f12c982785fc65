package target

import (
	"errors"
	"io/fs"
	"os"

	"culprit/daemon/image"
	"culprit/daemon/process"
	"culprit/daemon/program"
)

// A source lets a program read a process: it is a program.Source.
type source struct{ p *process.Process }

func (s source) PID() int          { return s.p.PID() }
func (s source) Invoked() []string { return s.p.Invoked() }
func (s source) Entry() uint64     { return uint64(s.p.Entry()) }
func (s source) Loader() uint64    { return uint64(s.p.Loader()) }

func (s source) Exe() string {
	path, _ := s.p.Exe()
	return path
}

func (s source) ExeFile() program.FileKey {
	dev, inode, _ := s.p.ExeFile() // zero if nothing is known
	return program.FileKey{Dev: dev, Inode: inode}
}

func (s source) Maps() ([]program.Mapping, error) {
	maps, err := s.p.Maps()
	return CodeMaps(maps), err
}

func (s source) OpenFile(m *program.Mapping) (*os.File, error) {
	return s.p.OpenMapping(process.Mapping{Start: process.Addr(m.Start), End: process.Addr(m.End), Offset: m.Offset, Dev: m.File.Dev, Inode: m.File.Inode, Path: m.Path})
}

// OpenInRoot finds nothing once the process has ended.
func (s source) OpenInRoot(path string, owned bool) (*os.File, error) {
	f, err := s.p.OpenInRoot(path, owned)
	for _, over := range []error{process.ErrClosed, process.ErrTargetExited, process.ErrTargetExeced} {
		if errors.Is(err, over) {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
	}
	return f, err
}

func (s source) OpenGenerated() (*os.File, error) { return s.p.OpenGenerated() }

// CodeMaps are mappings as a program knows them.
func CodeMaps(maps []process.Mapping) []program.Mapping {
	out := make([]program.Mapping, len(maps))
	for i := range maps {
		out[i] = CodeMap(&maps[i])
	}
	return out
}

// CodeMap is one of them.
func CodeMap(m *process.Mapping) program.Mapping {
	return program.Mapping{Start: uint64(m.Start), End: uint64(m.End), Exec: m.Executable(), Shared: m.Perms&process.Shared != 0, Offset: m.Offset, File: program.FileKey{Dev: m.Dev, Inode: m.Inode}, Path: m.Path}
}

// SourceOf lets a program read a process.
func SourceOf(p *process.Process) program.Source { return source{p} }

// EachFile hands every file whose code a process has mapped to visit. Nothing is stopped.
func EachFile(pid int, visit func(*image.Object)) error {
	p, err := process.Look(pid)
	if err != nil {
		return err
	}
	defer p.Close()
	maps, err := p.Maps()
	if err != nil {
		return err
	}
	var files program.Files
	exe := SourceOf(p).ExeFile()
	seen := map[program.FileKey]bool{}
	for _, m := range maps {
		code := CodeMap(&m)
		if !m.Executable() || !m.FileBacked() || code.InMemory() && code.File != exe || seen[code.File] {
			continue
		}
		seen[code.File] = true
		o, err := files.Open(SourceOf(p), &code)
		if err != nil {
			return err
		}
		visit(o)
	}
	return nil
}
