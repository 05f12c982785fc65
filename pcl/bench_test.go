package pcl

import (
	"testing"

	"culprit/grid"
)

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, problems, err := Load(Options{}); err != nil || len(problems) > 0 {
			b.Fatal(problems, err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	lib, env := load(b), newTarget()
	focus := grid.Whole().Refine(grid.Code, "work.c", "work").Refine(grid.SyncObject, "Mutex", "cache_lock")
	for b.Loop() {
		if _, err := lib.Compile("sync_wait_inclusive", focus, env); err != nil {
			b.Fatal(err)
		}
	}
}
