package daemon

import (
	"os"

	"culprit/daemon/process"
)

// A codeSource lets a program read a process.
type codeSource struct{ p *process.Process }

func (s codeSource) pid() int          { return s.p.PID() }
func (s codeSource) invoked() []string { return s.p.Invoked() }
func (s codeSource) entry() uint64     { return uint64(s.p.Entry()) }
func (s codeSource) loader() uint64    { return uint64(s.p.Loader()) }

func (s codeSource) exe() string {
	path, _ := s.p.Exe()
	return path
}

func (s codeSource) maps() ([]mapping, error) {
	maps, err := s.p.Maps()
	return codeMaps(maps), err
}

func (s codeSource) openFile(m *mapping) (*os.File, error) {
	return s.p.OpenMapping(process.Mapping{Start: process.Addr(m.start), End: process.Addr(m.end), Offset: m.offset, Dev: m.file.dev, Inode: m.file.inode, Path: m.path})
}

// codeMaps are mappings as a program knows them.
func codeMaps(maps []process.Mapping) []mapping {
	out := make([]mapping, len(maps))
	for i := range maps {
		out[i] = codeMap(&maps[i])
	}
	return out
}

func codeMap(m *process.Mapping) mapping {
	return mapping{start: uint64(m.Start), end: uint64(m.End), exec: m.Executable(), offset: m.Offset, file: fileKey{m.Dev, m.Inode}, path: m.Path}
}
