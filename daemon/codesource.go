package daemon

import (
	"os"

	"culprit/daemon/process"
	"culprit/daemon/program"
)

// A codeSource lets a program read a process: it is a program.Source.
type codeSource struct{ p *process.Process }

func (s codeSource) PID() int          { return s.p.PID() }
func (s codeSource) Invoked() []string { return s.p.Invoked() }
func (s codeSource) Entry() uint64     { return uint64(s.p.Entry()) }
func (s codeSource) Loader() uint64    { return uint64(s.p.Loader()) }

func (s codeSource) Exe() string {
	path, _ := s.p.Exe()
	return path
}

func (s codeSource) Maps() ([]program.Mapping, error) {
	maps, err := s.p.Maps()
	return codeMaps(maps), err
}

func (s codeSource) OpenFile(m *program.Mapping) (*os.File, error) {
	return s.p.OpenMapping(process.Mapping{Start: process.Addr(m.Start), End: process.Addr(m.End), Offset: m.Offset, Dev: m.File.Dev, Inode: m.File.Inode, Path: m.Path})
}

// codeMaps are mappings as a program knows them.
func codeMaps(maps []process.Mapping) []program.Mapping {
	out := make([]program.Mapping, len(maps))
	for i := range maps {
		out[i] = codeMap(&maps[i])
	}
	return out
}

func codeMap(m *process.Mapping) program.Mapping {
	return program.Mapping{Start: uint64(m.Start), End: uint64(m.End), Exec: m.Executable(), Offset: m.Offset, File: program.FileKey{Dev: m.Dev, Inode: m.Inode}, Path: m.Path}
}
