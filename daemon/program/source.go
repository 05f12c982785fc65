package program

import (
	"os"
	"strings"
)

// A Source is where a program reads what a process maps.
type Source interface {
	PID() int
	// Maps are the mappings of the process in order of address.
	Maps() ([]Mapping, error)
	// OpenFile opens the very file that is mapped.
	OpenFile(*Mapping) (*os.File, error)
	// OpenInRoot opens a file by its absolute path where the process would find it; owned asks for one that belongs to the user of the
	// process. It opens nothing that this user may not read, and nothing but regular files.
	OpenInRoot(path string, owned bool) (*os.File, error)
	// OpenGenerated opens the file in which the process names the code that it generates (perf-PID.map), if it belongs to the user of the
	// process.
	OpenGenerated() (*os.File, error)
	// Exe is the path of the program's file, and ExeFile the file itself, zero if that is not known.
	Exe() string
	ExeFile() FileKey
	// Invoked are the names by which the program was started.
	Invoked() []string
	// Entry is where the program begins, and Loader where the kernel has mapped what loads its libraries, 0 if it has none.
	Entry() uint64
	Loader() uint64
}

// A Mapping is a piece of a process's memory.
type Mapping struct {
	Start, End uint64 // half-open
	Exec       bool
	Shared     bool    // MAP_SHARED: what is written there comes into the file
	Offset     uint64  // in the file, bytes
	File       FileKey // zero if there is none
	Path       string  // as the kernel writes it; not to be shown raw
}

// InMemory reports whether a mapping shows a file that was made in memory.
func (m *Mapping) InMemory() bool { return strings.HasPrefix(m.Path, "/memfd:") }

// A FileKey names a file however it is reached.
type FileKey struct {
	Dev   uint64 // as in stat(2)
	Inode uint64
}
