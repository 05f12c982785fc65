package daemon

import (
	"os"
	"strings"
)

// A source is where a program reads what a process maps.
type source interface {
	pid() int
	// maps are the mappings of the process in order of address.
	maps() ([]mapping, error)
	// openFile opens the very file that is mapped.
	openFile(*mapping) (*os.File, error)
	// exe is the path of the program's file.
	exe() string
	// invoked are the names by which the program was started.
	invoked() []string
	// entry is where the program begins, and loader where the kernel has mapped what loads its libraries, 0 if it has none.
	entry() uint64
	loader() uint64
}

// A mapping is a piece of a process's memory.
type mapping struct {
	start, end uint64 // half-open
	exec       bool
	offset     uint64  // in the file, bytes
	file       fileKey // zero if there is none
	path       string  // as the kernel writes it; not to be shown raw
}

// inMemory reports whether a mapping shows a file that was made in memory.
func (m *mapping) inMemory() bool { return strings.HasPrefix(m.path, "/memfd:") }

// A fileKey names a file however it is reached.
type fileKey struct {
	dev   uint64
	inode uint64
}
