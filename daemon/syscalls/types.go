package syscalls

import (
	"encoding/binary"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"

	"culprit/internal/kerneltypes"
)

// Types are the kernel's description of its types. It is not safe for use by several goroutines.
type Types struct{ cache *btf.Cache }

// NewTypes makes one that is read when it is needed first.
func NewTypes() *Types { return &Types{kerneltypes.Cache()} }

// load gives the kernel a program.
func (t *Types) load(spec *ebpf.ProgramSpec) (*ebpf.Program, error) {
	all, err := ebpf.NewCollectionWithOptions(&ebpf.CollectionSpec{Programs: map[string]*ebpf.ProgramSpec{spec.Name: spec}, ByteOrder: binary.LittleEndian},
		ebpf.CollectionOptions{Cache: t.cache})
	if err != nil {
		return nil, fmt.Errorf("loading a program at %s: %w", spec.AttachTo, err)
	}
	defer all.Close()
	return all.DetachProgram(spec.Name), nil
}
