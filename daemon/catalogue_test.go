package daemon

import (
	"testing"

	"culprit/grid"
	"culprit/internal/testprog"
)

// TestCodeIsListedOnDemand: no function is listed, and no table of a library read, until somebody wants to choose among them.
func TestCodeIsListedOnDemand(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/command.c"), "10")
	d := attachTo(t, p.PID)
	d.catalogue.Wait()
	if mods := d.Tree().Children(grid.Code); len(mods) > 0 {
		t.Errorf("%q are listed, and nobody asked", mods)
	}
	before := d.Tree().Version()
	d.Known()
	if !d.Tree().Exists(grid.Code, "command.c", "main") || !d.Tree().Exists(grid.Code, "libc.so.6", "malloc") || d.Tree().Version() == before {
		t.Errorf("%q are listed", d.Tree().Children(grid.Code))
	}
}
