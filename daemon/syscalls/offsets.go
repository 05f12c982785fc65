package syscalls

import (
	"fmt"

	"github.com/cilium/ebpf/btf"
)

// offsets are asked for one after the other; err is the first failure.
type offsets struct {
	types *btf.Spec
	err   error
}

// of is where a member of members lies in a struct of the kernel, in bytes.
func (o *offsets) of(structure string, path ...string) int32 {
	var in *btf.Struct
	if o.err == nil {
		o.err = o.types.TypeByName(structure, &in)
	}
	if o.err != nil {
		return 0
	}
	at, err := offsetOf(in, path...)
	o.err = err
	return int32(at)
}

// size is how long a struct of the kernel is, in bytes.
func (o *offsets) size(structure string) int32 {
	var in *btf.Struct
	if o.err == nil {
		o.err = o.types.TypeByName(structure, &in)
	}
	if o.err != nil {
		return 0
	}
	return int32(in.Size)
}

// offsetOf is where a member of members lies, in bytes.
func offsetOf(in *btf.Struct, path ...string) (int, error) {
	at, of := 0, in
	for _, name := range path {
		member := memberOf(of, name)
		if member == nil {
			return 0, fmt.Errorf("the kernel's struct %s has no member %s", of.Name, name)
		}
		at += int(member.Offset.Bytes())
		of, _ = btf.UnderlyingType(member.Type).(*btf.Struct)
		if of == nil {
			of = &btf.Struct{Name: name}
		}
	}
	return at, nil
}

func memberOf(of *btf.Struct, name string) *btf.Member {
	for i := range of.Members {
		if of.Members[i].Name == name {
			return &of.Members[i]
		}
	}
	return nil
}
