package patch

import (
	"context"
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"culprit/daemon/process"
	"culprit/internal/testprog"
)

// TestUndoInTheDead: of a process that is killed in a stop nothing is put back, and that takes as long as one try, however much was to be put back.
func TestUndoInTheDead(t *testing.T) {
	p := testprog.StartTarget(t, testprog.Build(t, "testdata/targets/selfcheck.c"))
	proc, err := process.Open(p.PID)
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	maps, err := proc.Maps()
	if err != nil {
		t.Fatal(err)
	}
	page := &PageEdit{addr: uint64(maps[0].Start)}
	for i := range uint64(40) {
		page.Pieces = append(page.Pieces, Piece{Addr: page.addr + 8*i, Old: make([]byte, 4)})
	}
	_, err = proc.Stop(context.Background(), process.StopOptions{}, func(w *process.World) error {
		if err := unix.Kill(p.PID, unix.SIGKILL); err != nil {
			return err
		}
		for probe := make([]byte, 1); w.ReadMem(maps[0].Start, probe) == nil; { // until it has no memory any more
			time.Sleep(time.Millisecond)
		}
		began := time.Now()
		err := undoPages(w, []*PageEdit{page, page, page})
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %v to find out that the process is dead", took)
		}
		return err
	})
	if !errors.Is(err, process.ErrTargetExited) {
		t.Errorf("the end is told as %v", err)
	}
}
