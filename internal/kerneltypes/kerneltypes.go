// Package kerneltypes shares the kernel's description of its types among all who load programs into the kernel or look up fields of its structures.
package kerneltypes

import (
	"sync"
	"weak"

	"github.com/cilium/ebpf/btf"
)

var shared struct {
	sync.Mutex
	cache weak.Pointer[btf.Cache]
}

// Cache is what all share as long as one of them, or garbage that is not collected yet, holds it: to read the description takes some 40 ms of a CPU, and to
// keep it 30 MB. It is safe for use by several goroutines.
func Cache() *btf.Cache {
	shared.Lock()
	defer shared.Unlock()
	c := shared.cache.Value()
	if c == nil {
		c = btf.NewCache()
		shared.cache = weak.Make(c)
	}
	return c
}
