// Package lib holds the library that comes with the program: metrics, constraints and hypotheses, one file of PCL for each
// subject. It is text only; pcl reads it. A new file needs its place in the order below.
//
// It imports nothing of the house. Files is pure, any goroutine may call it.
package lib

import (
	"embed"
	"path"
	"slices"
	"sync"
)

//go:embed *.pcl
var texts embed.FS

// order is that of loading, and so that in which metrics and hypotheses are listed.
var order = []string{"code.pcl", "cpu.pcl", "sync.pcl", "locks.pcl", "io.pcl", "sockets.pcl", "mpi.pcl", "memory.pcl", "kernel.pcl",
	"overhead.pcl", "why.pcl"}

// A File is one text of the library.
type File struct {
	Name string // as messages give it: "lib/cpu.pcl"
	Text string
}

// Files lists the texts in the order in which they are to be loaded.
func Files() []File { return slices.Clone(files()) }

// files reads them once: a text is long, and programs that test load it often.
var files = sync.OnceValue(func() []File {
	out := make([]File, 0, len(order))
	for _, name := range order {
		text, err := texts.ReadFile(name)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		out = append(out, File{path.Join("lib", name), string(text)})
	}
	return out
})
